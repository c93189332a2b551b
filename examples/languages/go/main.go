// A platform on a cluster of your own that runs Kueue.
package main

import (
	"example.com/pulumi-gpuyard/sdk/go/gpuyard"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		platform, err := gpuyard.NewPlatform(ctx, "platform", &gpuyard.PlatformArgs{
			Platform: gpuyard.PlatformSpecArgs{
				Name:       "lab",
				Cloud:      "none",
				Kubernetes: "1.36",
				Cluster:    &gpuyard.ClusterSpecArgs{Existing: pulumi.StringRef("lab")}, // the context of your kubeconfig
				Queueing:   &gpuyard.QueueingSpecArgs{Install: pulumi.BoolRef(false)},
				Pools:      []gpuyard.PoolSpecArgs{{Name: "train", Machine: "p5.48xlarge", Nodes: 4}},
				Teams: []gpuyard.TeamSpecArgs{
					{Name: "vision", Guarantee: map[string]int{"train": 8}},
					{Name: "speech", Borrow: map[string]int{"train": 8}},
				},
			},
		})
		if err != nil {
			return err
		}
		ctx.Export("queues", platform.Teams)
		ctx.Export("cost", platform.Bill.MaximumUsdPerHour())
		return nil
	})
}
