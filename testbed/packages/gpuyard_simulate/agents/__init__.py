"""Fakes of the agents of a GPU node, one module each, named for what it fakes.

    kubelet            cpu, memory, pods and disk of the machine
    mig_manager        partitions GPUs by `nvidia.com/mig.config`, and reports in `nvidia.com/mig.config.state`
    feature_discovery  the labels of GPU Feature Discovery
    device_plugin      `nvidia.com/*` capacity
    cluster_policy     the operator's `status.state`

and of other components:

    autoscaler         Cluster Autoscaler's answers to ProvisioningRequests, by free capacity of fake nodes
    kueue_restart      the rollout by which Kueue's pods load a new configuration

They read node labels, the ClusterPolicy and the ConfigMaps it names, and hardware facts from the
catalogue. They never read a plan, so a test that compares plan and nodes proves something.
Each fake is a pure function over plain values; `loop` and `provisioning` talk to the API server. A node's
MIG layout is stored on the node itself, as on real hardware, so that the process can be restarted.
"""
