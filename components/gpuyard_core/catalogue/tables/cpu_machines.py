"""Machines without GPUs, for the controllers, as tables for review against their source.

Columns: gib is memory, usd and spot US dollars an hour. A dash is unknown. `gpuyard_core.catalogue.machines` reads it.
"""

EC2_CPU = """
# type             vcpu  gib   arch     usd
t3.large              2    8  amd64  0.0832
t3.xlarge             4   16  amd64  0.1664
t3.2xlarge            8   32  amd64  0.3328
t3a.large             2    8  amd64  0.0752
t3a.xlarge            4   16  amd64  0.1504
t3a.2xlarge           8   32  amd64  0.3008
t4g.large             2    8  arm64  0.0672
t4g.xlarge            4   16  arm64  0.1344
t4g.2xlarge           8   32  arm64  0.2688
m5.large              2    8  amd64   0.096
m5.xlarge             4   16  amd64   0.192
m5.2xlarge            8   32  amd64   0.384
m5.4xlarge           16   64  amd64   0.768
m5.8xlarge           32  128  amd64   1.536
m5.12xlarge          48  192  amd64   2.304
m5.16xlarge          64  256  amd64   3.072
m5a.large             2    8  amd64   0.086
m5a.xlarge            4   16  amd64   0.172
m5a.2xlarge           8   32  amd64   0.344
m5a.4xlarge          16   64  amd64   0.688
m5a.8xlarge          32  128  amd64   1.376
m5a.12xlarge         48  192  amd64   2.064
m5a.16xlarge         64  256  amd64   2.752
m6i.large             2    8  amd64   0.096
m6i.xlarge            4   16  amd64   0.192
m6i.2xlarge           8   32  amd64   0.384
m6i.4xlarge          16   64  amd64   0.768
m6i.8xlarge          32  128  amd64   1.536
m6i.12xlarge         48  192  amd64   2.304
m6i.16xlarge         64  256  amd64   3.072
m6a.large             2    8  amd64  0.0864
m6a.xlarge            4   16  amd64  0.1728
m6a.2xlarge           8   32  amd64  0.3456
m6a.4xlarge          16   64  amd64  0.6912
m6a.8xlarge          32  128  amd64  1.3824
m6a.12xlarge         48  192  amd64  2.0736
m6a.16xlarge         64  256  amd64  2.7648
m6g.large             2    8  arm64   0.077
m6g.xlarge            4   16  arm64   0.154
m6g.2xlarge           8   32  arm64   0.308
m6g.4xlarge          16   64  arm64   0.616
m6g.8xlarge          32  128  arm64   1.232
m6g.12xlarge         48  192  arm64   1.848
m6g.16xlarge         64  256  arm64   2.464
m7i.large             2    8  amd64  0.1008
m7i.xlarge            4   16  amd64  0.2016
m7i.2xlarge           8   32  amd64  0.4032
m7i.4xlarge          16   64  amd64  0.8064
m7i.8xlarge          32  128  amd64  1.6128
m7i.12xlarge         48  192  amd64  2.4192
m7i.16xlarge         64  256  amd64  3.2256
m7a.large             2    8  amd64  0.1159
m7a.xlarge            4   16  amd64  0.2318
m7a.2xlarge           8   32  amd64  0.4637
m7a.4xlarge          16   64  amd64  0.9274
m7a.8xlarge          32  128  amd64  1.8547
m7a.12xlarge         48  192  amd64  2.7821
m7a.16xlarge         64  256  amd64  3.7094
m7g.large             2    8  arm64  0.0816
m7g.xlarge            4   16  arm64  0.1632
m7g.2xlarge           8   32  arm64  0.3264
m7g.4xlarge          16   64  arm64  0.6528
m7g.8xlarge          32  128  arm64  1.3056
m7g.12xlarge         48  192  arm64  1.9584
m7g.16xlarge         64  256  arm64  2.6112
m7i-flex.large        2    8  amd64  0.0958
m7i-flex.xlarge       4   16  amd64  0.1915
m7i-flex.2xlarge      8   32  amd64   0.383
m7i-flex.4xlarge     16   64  amd64  0.7661
m7i-flex.8xlarge     32  128  amd64  1.5322
m7i-flex.12xlarge    48  192  amd64  2.2982
m7i-flex.16xlarge    64  256  amd64  3.0643
m8i.large             2    8  amd64  0.1058
m8i.xlarge            4   16  amd64  0.2117
m8i.2xlarge           8   32  amd64  0.4234
m8i.4xlarge          16   64  amd64  0.8467
m8i.8xlarge          32  128  amd64  1.6934
m8i.12xlarge         48  192  amd64  2.5402
m8i.16xlarge         64  256  amd64  3.3869
m8a.large             2    8  amd64  0.1217
m8a.xlarge            4   16  amd64  0.2434
m8a.2xlarge           8   32  amd64  0.4869
m8a.4xlarge          16   64  amd64  0.9738
m8a.8xlarge          32  128  amd64  1.9475
m8a.12xlarge         48  192  amd64  2.9213
m8a.16xlarge         64  256  amd64   3.895
m8g.large             2    8  arm64  0.0898
m8g.xlarge            4   16  arm64  0.1795
m8g.2xlarge           8   32  arm64   0.359
m8g.4xlarge          16   64  arm64  0.7181
m8g.8xlarge          32  128  arm64  1.4362
m8g.12xlarge         48  192  arm64  2.1542
m8g.16xlarge         64  256  arm64  2.8723
m8i-flex.large        2    8  amd64  0.1006
m8i-flex.xlarge       4   16  amd64  0.2011
m8i-flex.2xlarge      8   32  amd64  0.4022
m8i-flex.4xlarge     16   64  amd64  0.8044
m8i-flex.8xlarge     32  128  amd64  1.6088
m8i-flex.12xlarge    48  192  amd64  2.4132
m8i-flex.16xlarge    64  256  amd64  3.2176
m9g.large             2    8  arm64  0.0978
m9g.xlarge            4   16  arm64  0.1957
m9g.2xlarge           8   32  arm64  0.3914
m9g.4xlarge          16   64  arm64  0.7827
m9g.8xlarge          32  128  arm64  1.5654
m9g.12xlarge         48  192  arm64  2.3482
m9g.16xlarge         64  256  arm64  3.1309
c5.large              2    4  amd64   0.085
c5.xlarge             4    8  amd64    0.17
c5.2xlarge            8   16  amd64    0.34
c5.4xlarge           16   32  amd64    0.68
c5.12xlarge          48   96  amd64    2.04
c5a.large             2    4  amd64   0.077
c5a.xlarge            4    8  amd64   0.154
c5a.2xlarge           8   16  amd64   0.308
c5a.4xlarge          16   32  amd64   0.616
c5a.8xlarge          32   64  amd64   1.232
c5a.12xlarge         48   96  amd64   1.848
c5a.16xlarge         64  128  amd64   2.464
c6i.large             2    4  amd64   0.085
c6i.xlarge            4    8  amd64    0.17
c6i.2xlarge           8   16  amd64    0.34
c6i.4xlarge          16   32  amd64    0.68
c6i.8xlarge          32   64  amd64    1.36
c6i.12xlarge         48   96  amd64    2.04
c6i.16xlarge         64  128  amd64    2.72
c6a.large             2    4  amd64  0.0765
c6a.xlarge            4    8  amd64   0.153
c6a.2xlarge           8   16  amd64   0.306
c6a.4xlarge          16   32  amd64   0.612
c6a.8xlarge          32   64  amd64   1.224
c6a.12xlarge         48   96  amd64   1.836
c6a.16xlarge         64  128  amd64   2.448
c6g.large             2    4  arm64   0.068
c6g.xlarge            4    8  arm64   0.136
c6g.2xlarge           8   16  arm64   0.272
c6g.4xlarge          16   32  arm64   0.544
c6g.8xlarge          32   64  arm64   1.088
c6g.12xlarge         48   96  arm64   1.632
c6g.16xlarge         64  128  arm64   2.176
c7i.large             2    4  amd64  0.0892
c7i.xlarge            4    8  amd64  0.1785
c7i.2xlarge           8   16  amd64   0.357
c7i.4xlarge          16   32  amd64   0.714
c7i.8xlarge          32   64  amd64   1.428
c7i.12xlarge         48   96  amd64   2.142
c7i.16xlarge         64  128  amd64   2.856
c7a.large             2    4  amd64  0.1026
c7a.xlarge            4    8  amd64  0.2053
c7a.2xlarge           8   16  amd64  0.4106
c7a.4xlarge          16   32  amd64  0.8211
c7a.8xlarge          32   64  amd64  1.6422
c7a.12xlarge         48   96  amd64  2.4634
c7a.16xlarge         64  128  amd64  3.2845
c7g.large             2    4  arm64  0.0725
c7g.xlarge            4    8  arm64   0.145
c7g.2xlarge           8   16  arm64    0.29
c7g.4xlarge          16   32  arm64    0.58
c7g.8xlarge          32   64  arm64    1.16
c7g.12xlarge         48   96  arm64    1.74
c7g.16xlarge         64  128  arm64    2.32
c7i-flex.large        2    4  amd64  0.0848
c7i-flex.xlarge       4    8  amd64  0.1696
c7i-flex.2xlarge      8   16  amd64  0.3392
c7i-flex.4xlarge     16   32  amd64  0.6783
c7i-flex.8xlarge     32   64  amd64  1.3566
c7i-flex.12xlarge    48   96  amd64  2.0349
c7i-flex.16xlarge    64  128  amd64  2.7132
c8i.large             2    4  amd64  0.0937
c8i.xlarge            4    8  amd64  0.1874
c8i.2xlarge           8   16  amd64  0.3748
c8i.4xlarge          16   32  amd64  0.7497
c8i.8xlarge          32   64  amd64  1.4994
c8i.12xlarge         48   96  amd64   2.249
c8i.16xlarge         64  128  amd64  2.9987
c8a.large             2    4  amd64  0.1078
c8a.xlarge            4    8  amd64  0.2155
c8a.2xlarge           8   16  amd64  0.4311
c8a.4xlarge          16   32  amd64  0.8622
c8a.8xlarge          32   64  amd64  1.7243
c8a.12xlarge         48   96  amd64  2.5865
c8a.16xlarge         64  128  amd64  3.4486
c8g.large             2    4  arm64  0.0798
c8g.xlarge            4    8  arm64  0.1595
c8g.2xlarge           8   16  arm64   0.319
c8g.4xlarge          16   32  arm64  0.6381
c8g.8xlarge          32   64  arm64  1.2762
c8g.12xlarge         48   96  arm64  1.9142
c8g.16xlarge         64  128  arm64  2.5523
c8i-flex.large        2    4  amd64   0.089
c8i-flex.xlarge       4    8  amd64   0.178
c8i-flex.2xlarge      8   16  amd64  0.3561
c8i-flex.4xlarge     16   32  amd64  0.7122
c8i-flex.8xlarge     32   64  amd64  1.4243
c8i-flex.12xlarge    48   96  amd64  2.1365
c8i-flex.16xlarge    64  128  amd64  2.8486
c9g.large             2    4  arm64  0.0869
c9g.xlarge            4    8  arm64  0.1739
c9g.2xlarge           8   16  arm64  0.3478
c9g.4xlarge          16   32  arm64  0.6955
c9g.8xlarge          32   64  arm64   1.391
c9g.12xlarge         48   96  arm64  2.0866
c9g.16xlarge         64  128  arm64  2.7821
r5.large              2   16  amd64   0.126
r5.xlarge             4   32  amd64   0.252
r5.2xlarge            8   64  amd64   0.504
r5.4xlarge           16  128  amd64   1.008
r5.8xlarge           32  256  amd64   2.016
r5.12xlarge          48  384  amd64   3.024
r5.16xlarge          64  512  amd64   4.032
r5a.large             2   16  amd64   0.113
r5a.xlarge            4   32  amd64   0.226
r5a.2xlarge           8   64  amd64   0.452
r5a.4xlarge          16  128  amd64   0.904
r5a.8xlarge          32  256  amd64   1.808
r5a.12xlarge         48  384  amd64   2.712
r5a.16xlarge         64  512  amd64   3.616
r6i.large             2   16  amd64   0.126
r6i.xlarge            4   32  amd64   0.252
r6i.2xlarge           8   64  amd64   0.504
r6i.4xlarge          16  128  amd64   1.008
r6i.8xlarge          32  256  amd64   2.016
r6i.12xlarge         48  384  amd64   3.024
r6i.16xlarge         64  512  amd64   4.032
r6a.large             2   16  amd64  0.1134
r6a.xlarge            4   32  amd64  0.2268
r6a.2xlarge           8   64  amd64  0.4536
r6a.4xlarge          16  128  amd64  0.9072
r6a.8xlarge          32  256  amd64  1.8144
r6a.12xlarge         48  384  amd64  2.7216
r6a.16xlarge         64  512  amd64  3.6288
r6g.large             2   16  arm64  0.1008
r6g.xlarge            4   32  arm64  0.2016
r6g.2xlarge           8   64  arm64  0.4032
r6g.4xlarge          16  128  arm64  0.8064
r6g.8xlarge          32  256  arm64  1.6128
r6g.12xlarge         48  384  arm64  2.4192
r6g.16xlarge         64  512  arm64  3.2256
r7i.large             2   16  amd64  0.1323
r7i.xlarge            4   32  amd64  0.2646
r7i.2xlarge           8   64  amd64  0.5292
r7i.4xlarge          16  128  amd64  1.0584
r7i.8xlarge          32  256  amd64  2.1168
r7i.12xlarge         48  384  amd64  3.1752
r7i.16xlarge         64  512  amd64  4.2336
r7a.large             2   16  amd64  0.1522
r7a.xlarge            4   32  amd64  0.3043
r7a.2xlarge           8   64  amd64  0.6086
r7a.4xlarge          16  128  amd64  1.2172
r7a.8xlarge          32  256  amd64  2.4344
r7a.12xlarge         48  384  amd64  3.6516
r7a.16xlarge         64  512  amd64  4.8688
r7g.large             2   16  arm64  0.1071
r7g.xlarge            4   32  arm64  0.2142
r7g.2xlarge           8   64  arm64  0.4284
r7g.4xlarge          16  128  arm64  0.8568
r7g.8xlarge          32  256  arm64  1.7136
r7g.12xlarge         48  384  arm64  2.5704
r7g.16xlarge         64  512  arm64  3.4272
r8i.large             2   16  amd64  0.1389
r8i.xlarge            4   32  amd64  0.2778
r8i.2xlarge           8   64  amd64  0.5557
r8i.4xlarge          16  128  amd64  1.1114
r8i.8xlarge          32  256  amd64  2.2227
r8i.12xlarge         48  384  amd64  3.3341
r8i.16xlarge         64  512  amd64  4.4454
r8a.large             2   16  amd64  0.1598
r8a.xlarge            4   32  amd64  0.3195
r8a.2xlarge           8   64  amd64   0.639
r8a.4xlarge          16  128  amd64  1.2781
r8a.8xlarge          32  256  amd64  2.5562
r8a.12xlarge         48  384  amd64  3.8342
r8a.16xlarge         64  512  amd64  5.1123
r8g.large             2   16  arm64  0.1178
r8g.xlarge            4   32  arm64  0.2356
r8g.2xlarge           8   64  arm64  0.4713
r8g.4xlarge          16  128  arm64  0.9426
r8g.8xlarge          32  256  arm64  1.8851
r8g.12xlarge         48  384  arm64  2.8277
r8g.16xlarge         64  512  arm64  3.7702
r8i-flex.large        2   16  amd64   0.132
r8i-flex.xlarge       4   32  amd64  0.2639
r8i-flex.2xlarge      8   64  amd64  0.5279
r8i-flex.4xlarge     16  128  amd64  1.0558
r8i-flex.8xlarge     32  256  amd64  2.1115
r8i-flex.12xlarge    48  384  amd64  3.1673
r8i-flex.16xlarge    64  512  amd64   4.223
r9g.large             2   16  arm64       -
r9g.xlarge            4   32  arm64       -
r9g.2xlarge           8   64  arm64       -
r9g.4xlarge          16  128  arm64       -
r9g.8xlarge          32  256  arm64       -
r9g.12xlarge         48  384  arm64       -
r9g.16xlarge         64  512  arm64       -
"""

GCE_CPU = """
# type           vcpu  gib   arch     usd    spot
e2-standard-2       2    8  amd64   0.067  0.0402
e2-standard-4       4   16  amd64   0.134  0.0804
e2-standard-8       8   32  amd64   0.268  0.1608
e2-standard-16     16   64  amd64  0.5361  0.3217
e2-standard-32     32  128  amd64  1.0722  0.6434
e2-highmem-2        2   16  amd64  0.0904  0.0542
e2-highmem-4        4   32  amd64  0.1808  0.1085
e2-highmem-8        8   64  amd64  0.3616   0.217
e2-highmem-16      16  128  amd64  0.7232   0.434
n1-standard-4       4   15  amd64    0.19   0.067
n1-standard-8       8   30  amd64    0.38   0.134
n1-standard-16     16   60  amd64    0.76   0.268
n1-standard-32     32  120  amd64    1.52  0.5361
n1-standard-64     64  240  amd64    3.04  1.0722
n1-highmem-2        2   13  amd64  0.1183  0.0417
n1-highmem-4        4   26  amd64  0.2366  0.0834
n1-highmem-8        8   52  amd64  0.4732  0.1669
n1-highmem-16      16  104  amd64  0.9464  0.3338
n1-highmem-32      32  208  amd64  1.8928  0.6676
n1-highmem-64      64  416  amd64  3.7857  1.3351
n2-standard-2       2    8  amd64  0.0971  0.0461
n2-standard-4       4   16  amd64  0.1942  0.0921
n2-standard-8       8   32  amd64  0.3885  0.1842
n2-standard-16     16   64  amd64  0.7769  0.3685
n2-standard-32     32  128  amd64  1.5539   0.737
n2-standard-48     48  192  amd64  2.3308  1.1054
n2-standard-64     64  256  amd64  3.1078  1.4739
n2-highmem-2        2   16  amd64   0.131  0.0621
n2-highmem-4        4   32  amd64   0.262  0.1243
n2-highmem-8        8   64  amd64  0.5241  0.2486
n2-highmem-16      16  128  amd64  1.0481  0.4971
n2-highmem-32      32  256  amd64  2.0962  0.9942
n2-highmem-48      48  384  amd64  3.1443  1.4914
n2-highmem-64      64  512  amd64  4.1924  1.9885
n2d-standard-2      2    8  amd64  0.0845  0.0245
n2d-standard-4      4   16  amd64   0.169  0.0489
n2d-standard-8      8   32  amd64   0.338  0.0978
n2d-standard-16    16   64  amd64  0.6759  0.1956
n2d-standard-32    32  128  amd64  1.3519  0.3913
n2d-standard-48    48  192  amd64  2.0278  0.5869
n2d-standard-64    64  256  amd64  2.7037  0.7826
n2d-highmem-2       2   16  amd64   0.114   0.033
n2d-highmem-4       4   32  amd64   0.228   0.066
n2d-highmem-8       8   64  amd64  0.4559   0.132
n2d-highmem-16     16  128  amd64  0.9118  0.2639
n2d-highmem-32     32  256  amd64  1.8237  0.5279
n2d-highmem-48     48  384  amd64  2.7355  0.7918
n2d-highmem-64     64  512  amd64  3.6474  1.0557
n4-standard-2       2    8  amd64  0.0907  0.0448
n4-standard-4       4   16  amd64  0.1814  0.0896
n4-standard-8       8   32  amd64  0.3628  0.1791
n4-standard-16     16   64  amd64  0.7256  0.3583
n4-standard-32     32  128  amd64  1.4512  0.7165
n4-standard-48     48  192  amd64  2.1768  1.0748
n4-standard-64     64  256  amd64  2.9024  1.4331
n4-highmem-2        2   16  amd64   0.119  0.0588
n4-highmem-4        4   32  amd64   0.238  0.1175
n4-highmem-8        8   64  amd64  0.4761  0.2351
n4-highmem-16      16  128  amd64  0.9522  0.4701
n4-highmem-32      32  256  amd64  1.9043  0.9403
n4-highmem-48      48  384  amd64  2.8565  1.4104
n4-highmem-64      64  512  amd64  3.8086  1.8806
n4a-standard-2      2    8  arm64   0.077  0.0323
n4a-standard-4      4   16  arm64   0.154  0.0647
n4a-standard-8      8   32  arm64   0.308  0.1293
n4a-standard-16    16   64  arm64   0.616  0.2587
n4a-standard-32    32  128  arm64   1.232  0.5173
n4a-standard-48    48  192  arm64   1.848   0.776
n4a-standard-64    64  256  arm64   2.464  1.0346
n4d-standard-2      2    8  amd64  0.0847  0.0411
n4d-standard-4      4   16  amd64  0.1694  0.0822
n4d-standard-8      8   32  amd64  0.3388  0.1644
n4d-standard-16    16   64  amd64  0.6776  0.3287
n4d-standard-32    32  128  amd64  1.3552  0.6574
n4d-standard-48    48  192  amd64  2.0328  0.9861
n4d-standard-64    64  256  amd64  2.7104  1.3148
c3-standard-4       4   16  amd64  0.2016  0.0494
c3-standard-8       8   32  amd64  0.4032  0.0988
c3-standard-22     22   88  amd64  1.1088  0.2717
c3-standard-44     44  176  amd64  2.2177  0.5434
c3-highmem-4        4   32  amd64  0.2646  0.0648
c3-highmem-8        8   64  amd64  0.5292  0.1297
c3-highmem-22      22  176  amd64  1.4554  0.3566
c3-highmem-44      44  352  amd64  2.9108  0.7132
c3d-standard-4      4   16  amd64  0.1816  0.0405
c3d-standard-8      8   32  amd64  0.3632  0.0809
c3d-standard-16    16   64  amd64  0.7264  0.1619
c3d-standard-30    30  120  amd64   1.362  0.3035
c3d-standard-60    60  240  amd64  2.7239  0.6071
c4-standard-2       2    7  amd64  0.0969  0.0581
c4-standard-4       4   15  amd64  0.1977  0.1186
c4-standard-8       8   30  amd64  0.3953  0.2372
c4-standard-16     16   60  amd64  0.7907  0.4744
c4-standard-24     24   90  amd64   1.186  0.7116
c4-standard-32     32  120  amd64  1.5814  0.9488
c4-standard-48     48  180  amd64   2.372  1.4233
c4-highmem-2        2   15  amd64  0.1284   0.077
c4-highmem-4        4   31  amd64  0.2607  0.1564
c4-highmem-8        8   62  amd64  0.5214  0.3128
c4-highmem-16      16  124  amd64  1.0427  0.6257
c4-highmem-24      24  186  amd64  1.5641  0.9385
c4-highmem-32      32  248  amd64  2.0854  1.2513
c4-highmem-48      48  372  amd64  3.1281   1.877
c4a-standard-2      2    8  arm64  0.0898  0.0388
c4a-standard-4      4   16  arm64  0.1796  0.0776
c4a-standard-8      8   32  arm64  0.3592  0.1553
c4a-standard-16    16   64  arm64  0.7184  0.3105
c4a-standard-32    32  128  arm64  1.4368  0.6211
c4a-standard-48    48  192  arm64  2.1552  0.9316
c4a-standard-64    64  256  arm64  2.8736  1.2421
c4a-highmem-2       2   16  arm64  0.1179   0.051
c4a-highmem-4       4   32  arm64  0.2358  0.1019
c4a-highmem-8       8   64  arm64  0.4715  0.2038
c4a-highmem-16     16  128  arm64   0.943  0.4076
c4a-highmem-32     32  256  arm64  1.8861  0.8152
c4a-highmem-48     48  384  arm64  2.8291  1.2228
c4a-highmem-64     64  512  arm64  3.7722  1.6305
c4d-standard-2      2    7  amd64  0.0917  0.0322
c4d-standard-4      4   15  amd64  0.1871  0.0657
c4d-standard-8      8   31  amd64   0.378  0.1327
c4d-standard-16    16   62  amd64   0.756  0.2654
c4d-standard-32    32  124  amd64  1.5119  0.5307
c4d-standard-48    48  186  amd64  2.2679  0.7961
c4d-standard-64    64  248  amd64  3.0239  1.0615
t2d-standard-2      2    8  amd64  0.0845  0.0315
t2d-standard-4      4   16  amd64   0.169   0.063
t2d-standard-8      8   32  amd64   0.338  0.1261
t2d-standard-16    16   64  amd64  0.6759  0.2522
t2d-standard-32    32  128  amd64  1.3519  0.5043
t2d-standard-48    48  192  amd64  2.0278  0.7565
t2d-standard-60    60  240  amd64  2.5348  0.9456
t2a-standard-2      2    8  arm64   0.077  0.0328
t2a-standard-4      4   16  arm64   0.154  0.0656
t2a-standard-8      8   32  arm64   0.308  0.1311
t2a-standard-16    16   64  arm64   0.616  0.2623
t2a-standard-32    32  128  arm64   1.232  0.5245
t2a-standard-48    48  192  arm64   1.848  0.7868
"""
