// A platform on a cluster of your own that runs Kueue.
import * as gpuyard from "@pulumi/gpuyard";

const platform = new gpuyard.Platform("platform", {
    platform: {
        name: "lab",
        cloud: "none",
        kubernetes: "1.36",
        cluster: { existing: "lab" }, // the context of your kubeconfig
        queueing: { install: false },
        pools: [{ name: "train", machine: "p5.48xlarge", nodes: 4 }],
        teams: [
            { name: "vision", guarantee: { train: 8 } },
            { name: "speech", borrow: { train: 8 } },
        ],
    },
});

export const queues = platform.teams;
export const cost = platform.bill.maximumUsdPerHour;
