"""Fakes of what lives on a real GPU node, one module each, named for what it fakes.

    kubelet            cpu, memory, pods and disk of the machine
    mig_manager        cuts GPUs as `nvidia.com/mig.config` says, and reports in `nvidia.com/mig.config.state`
    feature_discovery  the labels of GPU Feature Discovery
    device_plugin      `nvidia.com/*` capacity
    cluster_policy     the operator's `status.state`

and of what lives elsewhere:

    autoscaler         Cluster Autoscaler's answers to ProvisioningRequests, by what is free on fake nodes
    kueue_restart      the rollout by which Kueue's pods take a new configuration

They read node labels, the ClusterPolicy and the ConfigMaps it names, and hardware facts from the
catalogue. They never see a plan: that the plan agrees with the nodes is therefore worth something.
Each fake is a pure function over plain values; `loop` and `provisioning` talk to the API server. How a
node's GPUs are cut now is written on the node itself, as on real hardware, so that the process can be
restarted.
"""
