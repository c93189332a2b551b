"""Prices of commitments as tables: made for reading and for comparing with the lists that they come from.

US dollars an hour. `gpuyard.catalogue.commitments` reads them.
"""

EC2_RESERVED_1Y = """
# standard reserved instance, 1 year, nothing upfront, us-east-1
p4de.24xlarge      17.4014
p4d.24xlarge       13.9211
p3dn.24xlarge      19.2150
g6e.xlarge          1.1724
g6e.2xlarge         1.4125
g6e.4xlarge         1.8927
g6e.8xlarge         2.8530
g6e.12xlarge        6.6104
g6e.16xlarge        4.7736
g6e.24xlarge        9.4913
g6e.48xlarge       18.9826
g6.xlarge           0.5239
g6.2xlarge          0.6364
g6.4xlarge          0.8614
g6.8xlarge          1.3114
g6.12xlarge         2.9956
g6.16xlarge         2.2113
g6.24xlarge         4.3456
g6.48xlarge         8.6911
gr6.4xlarge         1.0020
gr6.8xlarge         1.5926
g5.xlarge           0.6338
g5.2xlarge          0.7636
g5.4xlarge          1.0231
g5.8xlarge          1.5422
g5.12xlarge         3.5734
g5.16xlarge         2.5805
g5.24xlarge         5.1307
g5.48xlarge        10.2614
g5g.xlarge          0.2646
g5g.2xlarge         0.3503
g5g.4xlarge         0.5216
g5g.8xlarge         0.8644
g5g.16xlarge        1.7287
g5g.metal           1.7287
g4dn.xlarge         0.3310
g4dn.2xlarge        0.4740
g4dn.4xlarge        0.7590
g4dn.8xlarge        1.3710
g4dn.12xlarge       2.4650
g4dn.16xlarge       2.7420
g4dn.metal          4.9290
"""

EC2_BLOCKS = """
# type               usd/hour     region
p6-b300.48xlarge     112.3200  us-east-1
p6-b200.48xlarge      98.8400  us-east-1
p5en.48xlarge         54.9200  us-east-1
p5e.48xlarge          47.7600  us-east-2
p5.4xlarge             5.1910  us-east-1
p5.48xlarge           41.5280  us-east-1
p4de.24xlarge         17.7120  us-east-1
p4d.24xlarge          11.8000  us-east-1
p6e-gb200.36xlarge    42.3280  us-east-1-dfw-2a
"""

GCE_CUDS = """
# type            1 year   3 years     resource-based committed use, us-central1
a2-highgpu-1g      2.3142    1.2857
a2-highgpu-2g      4.6284    2.5714
a2-highgpu-4g      9.2568    5.1428
a2-highgpu-8g     18.5137   10.2857
a2-megagpu-16g    35.1155   19.5092
a3-highgpu-1g      7.6730    4.8580
a3-highgpu-2g     15.3459    9.7161
a3-highgpu-4g     30.6918   19.4322
a3-highgpu-8g     61.3837   38.8644
g2-standard-4      0.4453    0.3181
g2-standard-8      0.5378    0.3841
g2-standard-12     0.6303    0.4502
g2-standard-16     0.7227    0.5162
g2-standard-24     1.2605    0.9004
g2-standard-32     1.0927    0.7805
g2-standard-48     2.5210    1.8007
g2-standard-96     5.0421    3.6015
g4-standard-6      0.3861    0.2461
g4-standard-12     0.7762    0.4949
g4-standard-24     1.5525    0.9897
g4-standard-48     3.1050    1.9794
g4-standard-96     6.2100    3.9589
g4-standard-192   12.4200    7.9178
g4-standard-384   24.8400   15.8356
e2-standard-2      0.0422    0.0302
e2-standard-4      0.0844    0.0603
e2-standard-8      0.1689    0.1206
e2-standard-16     0.3377    0.2412
e2-standard-32     0.6755    0.4825
e2-highmem-2       0.0570    0.0407
e2-highmem-4       0.1139    0.0814
e2-highmem-8       0.2278    0.1627
e2-highmem-16      0.4556    0.3254
n1-standard-4      0.1197    0.0855
n1-standard-8      0.2394    0.1710
n1-standard-16     0.4788    0.3420
n1-standard-32     0.9576    0.6840
n1-standard-64     1.9151    1.3681
n1-highmem-2       0.0745    0.0532
n1-highmem-4       0.1491    0.1065
n1-highmem-8       0.2981    0.2130
n1-highmem-16      0.5962    0.4259
n1-highmem-32      1.1924    0.8519
n1-highmem-64      2.3849    1.7037
n2-standard-2      0.0612    0.0437
n2-standard-4      0.1224    0.0874
n2-standard-8      0.2447    0.1748
n2-standard-16     0.4895    0.3496
n2-standard-32     0.9789    0.6993
n2-standard-48     1.4684    1.0489
n2-standard-64     1.9578    1.3986
n2-highmem-2       0.0825    0.0590
n2-highmem-4       0.1651    0.1179
n2-highmem-8       0.3301    0.2358
n2-highmem-16      0.6603    0.4717
n2-highmem-32      1.3205    0.9434
n2-highmem-48      1.9808    1.4151
n2-highmem-64      2.6411    1.8868
n2d-standard-2     0.0532    0.0380
n2d-standard-4     0.1065    0.0760
n2d-standard-8     0.2129    0.1521
n2d-standard-16    0.4258    0.3042
n2d-standard-32    0.8516    0.6084
n2d-standard-48    1.2775    0.9126
n2d-standard-64    1.7033    1.2168
n2d-highmem-2      0.0718    0.0513
n2d-highmem-4      0.1436    0.1026
n2d-highmem-8      0.2872    0.2052
n2d-highmem-16     0.5744    0.4104
n2d-highmem-32     1.1489    0.8207
n2d-highmem-48     1.7233    1.2311
n2d-highmem-64     2.2977    1.6415
n4-standard-2      0.0571    0.0408
n4-standard-4      0.1143    0.0816
n4-standard-8      0.2286    0.1633
n4-standard-16     0.4571    0.3265
n4-standard-32     0.9142    0.6531
n4-standard-48     1.3714    0.9796
n4-standard-64     1.8285    1.3061
n4-highmem-2       0.0750    0.0536
n4-highmem-4       0.1500    0.1071
n4-highmem-8       0.2999    0.2142
n4-highmem-16      0.5998    0.4285
n4-highmem-32      1.1997    0.8570
n4-highmem-48      1.7995    1.2854
n4-highmem-64      2.3994    1.7139
n4a-standard-2     0.0508    0.0347
n4a-standard-4     0.1016    0.0693
n4a-standard-8     0.2033    0.1386
n4a-standard-16    0.4066    0.2772
n4a-standard-32    0.8132    0.5545
n4a-standard-48    1.2198    0.8317
n4a-standard-64    1.6264    1.1089
n4d-standard-2     0.0534    0.0381
n4d-standard-4     0.1067    0.0762
n4d-standard-8     0.2134    0.1525
n4d-standard-16    0.4269    0.3050
n4d-standard-32    0.8537    0.6099
n4d-standard-48    1.2806    0.9149
n4d-standard-64    1.7075    1.2198
c3-standard-4      0.1270    0.0907
c3-standard-8      0.2540    0.1814
c3-standard-22     0.6986    0.4990
c3-standard-44     1.3972    0.9980
c3-highmem-4       0.1667    0.1191
c3-highmem-8       0.3334    0.2382
c3-highmem-22      0.9169    0.6549
c3-highmem-44      1.8338    1.3098
c3d-standard-4     0.1144    0.0817
c3d-standard-8     0.2288    0.1634
c3d-standard-16    0.4576    0.3268
c3d-standard-30    0.8580    0.6128
c3d-standard-60    1.7160    1.2256
c4-standard-2      0.0610    0.0436
c4-standard-4      0.1245    0.0890
c4-standard-8      0.2491    0.1779
c4-standard-16     0.4981    0.3558
c4-standard-24     0.7472    0.5337
c4-standard-32     0.9963    0.7116
c4-standard-48     1.4944    1.0674
c4-highmem-2       0.0809    0.0578
c4-highmem-4       0.1642    0.1173
c4-highmem-8       0.3285    0.2346
c4-highmem-16      0.6569    0.4692
c4-highmem-24      0.9854    0.7038
c4-highmem-32      1.3138    0.9384
c4-highmem-48      1.9708    1.4076
c4a-standard-2     0.0592    0.0404
c4a-standard-4     0.1184    0.0808
c4a-standard-8     0.2369    0.1617
c4a-standard-16    0.4738    0.3234
c4a-standard-32    0.9475    0.6467
c4a-standard-48    1.4213    0.9701
c4a-standard-64    1.8950    1.2934
c4a-highmem-2      0.0777    0.0531
c4a-highmem-4      0.1554    0.1061
c4a-highmem-8      0.3108    0.2122
c4a-highmem-16     0.6216    0.4245
c4a-highmem-32     1.2432    0.8490
c4a-highmem-48     1.8648    1.2734
c4a-highmem-64     2.4864    1.6979
c4d-standard-2     0.0578    0.0413
c4d-standard-4     0.1179    0.0842
c4d-standard-8     0.2381    0.1701
c4d-standard-16    0.4763    0.3402
c4d-standard-32    0.9525    0.6804
c4d-standard-48    1.4288    1.0205
c4d-standard-64    1.9050    1.3607
t2d-standard-2     0.0532    0.0380
t2d-standard-4     0.1065    0.0760
t2d-standard-8     0.2129    0.1521
t2d-standard-16    0.4258    0.3042
t2d-standard-32    0.8516    0.6084
t2d-standard-48    1.2775    0.9126
t2d-standard-60    1.5968    1.1407
"""
