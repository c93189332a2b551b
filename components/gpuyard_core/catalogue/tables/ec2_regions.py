"""On-demand list prices of EC2 outside us-east-1, one line per region: `type=usd` an hour.

A type without a price in a region is not sold there, or no source lists it. For us-east-1, which
`gpuyard_core.catalogue.tables.machines` has from another source, this source has the same prices.
"""

EC2_REGIONS = """
af-south-1 g4dn.xlarge=0.698 g4dn.2xlarge=0.998 g4dn.4xlarge=1.597 g4dn.8xlarge=2.887 g4dn.12xlarge=5.19
af-south-1 g4dn.16xlarge=5.774 g4dn.metal=10.381
ap-east-1 g5.xlarge=1.5488 g5.2xlarge=1.86595 g5.4xlarge=2.50025 g5.8xlarge=3.76885 g5.12xlarge=8.7324
ap-east-1 g5.16xlarge=6.30605 g5.24xlarge=12.5382 g5.48xlarge=25.0764 g4dn.xlarge=0.81 g4dn.2xlarge=1.158
ap-east-1 g4dn.4xlarge=1.854 g4dn.8xlarge=3.351 g4dn.12xlarge=6.024 g4dn.16xlarge=6.702 g4dn.metal=12.048
ap-northeast-1 p5en.48xlarge=79.12 p5.4xlarge=8.6 p5.48xlarge=68.8 p4de.24xlarge=37.6223 p4d.24xlarge=30.0978
ap-northeast-1 p3dn.24xlarge=42.783 g6e.xlarge=2.699 g6e.2xlarge=3.25168 g6e.4xlarge=4.35703
ap-northeast-1 g6e.8xlarge=6.56775 g6e.12xlarge=15.2174 g6e.16xlarge=10.9892 g6e.24xlarge=21.8496
ap-northeast-1 g6e.48xlarge=43.6991 g6.xlarge=1.1672 g6.2xlarge=1.41781 g6.4xlarge=1.91903 g6.8xlarge=2.92148
ap-northeast-1 g6.12xlarge=6.67369 g6.16xlarge=4.92637 g6.24xlarge=9.68103 g6.48xlarge=19.3621
ap-northeast-1 gr6.4xlarge=2.2323 gr6.8xlarge=3.54801 g6f.large=0.29296 g6f.xlarge=0.34444 g6f.2xlarge=0.68888
ap-northeast-1 g6f.4xlarge=1.37776 gr6f.4xlarge=1.54602 g5.xlarge=1.459 g5.2xlarge=1.75776 g5.4xlarge=2.35528
ap-northeast-1 g5.8xlarge=3.55033 g5.12xlarge=8.22609 g5.16xlarge=5.94042 g5.24xlarge=11.8112
ap-northeast-1 g5.48xlarge=23.6225 g5g.xlarge=0.5669 g5g.2xlarge=0.7505 g5g.4xlarge=1.1176 g5g.8xlarge=1.8519
ap-northeast-1 g5g.16xlarge=3.7039 g5g.metal=3.7039 g4dn.xlarge=0.71 g4dn.2xlarge=1.015 g4dn.4xlarge=1.625
ap-northeast-1 g4dn.8xlarge=2.938 g4dn.12xlarge=5.281 g4dn.16xlarge=5.875 g4dn.metal=10.562
ap-northeast-2 p5en.48xlarge=87.3485 p5.48xlarge=75.9552 p4d.24xlarge=30.4103 g6e.xlarge=2.288
ap-northeast-2 g6e.2xlarge=2.75652 g6e.4xlarge=3.69355 g6e.8xlarge=5.56762 g6e.12xlarge=12.9001
ap-northeast-2 g6e.16xlarge=9.31575 g6e.24xlarge=18.5223 g6e.48xlarge=37.0447 g6.xlarge=0.9896
ap-northeast-2 g6.2xlarge=1.20208 g6.4xlarge=1.62704 g6.8xlarge=2.47695 g6.12xlarge=5.65823
ap-northeast-2 g6.16xlarge=4.17678 g6.24xlarge=8.20797 g6.48xlarge=16.4159 gr6.4xlarge=1.8926
ap-northeast-2 gr6.8xlarge=3.00809 g6f.large=0.24838 g6f.xlarge=0.29203 g6f.2xlarge=0.58406
ap-northeast-2 g6f.4xlarge=1.16812 gr6f.4xlarge=1.31075 g5.xlarge=1.237 g5.2xlarge=1.4903 g5.4xlarge=1.99691
ap-northeast-2 g5.8xlarge=3.01012 g5.12xlarge=6.97442 g5.16xlarge=5.03653 g5.24xlarge=10.014
ap-northeast-2 g5.48xlarge=20.0281 g5g.xlarge=0.5166 g5g.2xlarge=0.6839 g5g.4xlarge=1.0185 g5g.8xlarge=1.6876
ap-northeast-2 g5g.16xlarge=3.3752 g5g.metal=3.3752 g4dn.xlarge=0.647 g4dn.2xlarge=0.925 g4dn.4xlarge=1.481
ap-northeast-2 g4dn.8xlarge=2.677 g4dn.12xlarge=4.812 g4dn.16xlarge=5.353 g4dn.metal=9.624
ap-northeast-3 g4dn.xlarge=0.71 g4dn.2xlarge=1.015 g4dn.4xlarge=1.625 g4dn.8xlarge=2.938 g4dn.12xlarge=5.281
ap-northeast-3 g4dn.16xlarge=5.875 g4dn.metal=10.562
ap-south-1 p5en.48xlarge=75.9552 p5.4xlarge=8.256 p5.48xlarge=66.048 p4d.24xlarge=26.3444 g6.xlarge=0.9664
ap-south-1 g6.2xlarge=1.1739 g6.4xlarge=1.58889 g6.8xlarge=2.41888 g6.12xlarge=5.52558 g6.16xlarge=4.07886
ap-south-1 g6.24xlarge=8.01555 g6.48xlarge=16.0311 gr6.4xlarge=1.8483 gr6.8xlarge=2.93768 g6f.large=0.24256
ap-south-1 g6f.xlarge=0.28519 g6f.2xlarge=0.57038 g6f.4xlarge=1.14076 gr6f.4xlarge=1.28007 g5.xlarge=1.208
ap-south-1 g5.2xlarge=1.45536 g5.4xlarge=1.95009 g5.8xlarge=2.93955 g5.12xlarge=6.81091 g5.16xlarge=4.91846
ap-south-1 g5.24xlarge=9.77928 g5.48xlarge=19.5586 g4dn.xlarge=0.579 g4dn.2xlarge=0.828 g4dn.4xlarge=1.325
ap-south-1 g4dn.8xlarge=2.395 g4dn.12xlarge=4.306 g4dn.16xlarge=4.791 g4dn.metal=8.612
ap-south-2 g6.xlarge=0.9664 g6.2xlarge=1.1739 g6.4xlarge=1.58889 g6.8xlarge=2.41888 g6.12xlarge=5.52558
ap-south-2 g6.16xlarge=4.07886 g6.24xlarge=8.01555 g6.48xlarge=16.0311
ap-southeast-1 p4de.24xlarge=32.9365 p4d.24xlarge=26.3492 g5g.xlarge=0.5877 g5g.2xlarge=0.778
ap-southeast-1 g5g.4xlarge=1.1586 g5g.8xlarge=1.9198 g5g.16xlarge=3.8395 g5g.metal=3.8395 g4dn.xlarge=0.736
ap-southeast-1 g4dn.2xlarge=1.052 g4dn.4xlarge=1.685 g4dn.8xlarge=3.045 g4dn.12xlarge=5.474
ap-southeast-1 g4dn.16xlarge=6.089 g4dn.metal=10.948
ap-southeast-2 p5.4xlarge=8.944 p5.48xlarge=71.552 p4d.24xlarge=28.5449 g6.xlarge=1.0464 g6.2xlarge=1.27107
ap-southeast-2 g6.4xlarge=1.72042 g6.8xlarge=2.61912 g6.12xlarge=5.98299 g6.16xlarge=4.41652
ap-southeast-2 g6.24xlarge=8.67909 g6.48xlarge=17.3582 gr6.4xlarge=2.0012 gr6.8xlarge=3.1807 g6f.large=0.26264
ap-southeast-2 g6f.xlarge=0.30879 g6f.2xlarge=0.61759 g6f.4xlarge=1.23517 gr6f.4xlarge=1.38597 g5.xlarge=1.308
ap-southeast-2 g5.2xlarge=1.57584 g5.4xlarge=2.11152 g5.8xlarge=3.18289 g5.12xlarge=7.37473
ap-southeast-2 g5.16xlarge=5.32561 g5.24xlarge=10.5888 g5.48xlarge=21.1776 g4dn.xlarge=0.684
ap-southeast-2 g4dn.2xlarge=0.978 g4dn.4xlarge=1.566 g4dn.8xlarge=2.83 g4dn.12xlarge=5.087 g4dn.16xlarge=5.659
ap-southeast-2 g4dn.metal=10.174
ap-southeast-3 p5en.48xlarge=87.3485 p5.4xlarge=9.4944 p5.48xlarge=75.9552 g5.xlarge=1.408 g5.2xlarge=1.69632
ap-southeast-3 g5.4xlarge=2.27295 g5.8xlarge=3.42623 g5.12xlarge=7.93854 g5.16xlarge=5.73277
ap-southeast-3 g5.24xlarge=11.3984 g5.48xlarge=22.7967 g5g.metal=3.8395
ap-southeast-5 g6.xlarge=1.0138 g6.2xlarge=1.23147 g6.4xlarge=1.66682 g6.8xlarge=2.53752 g6.12xlarge=5.7966
ap-southeast-5 g6.16xlarge=4.27892 g6.24xlarge=8.4087 g6.48xlarge=16.8174 gr6.4xlarge=1.9388
ap-southeast-5 gr6.8xlarge=3.08152
ca-central-1 p5.48xlarge=63.296 p4d.24xlarge=25.2517 g6.xlarge=0.8936 g6.2xlarge=1.08547 g6.4xlarge=1.4692
ca-central-1 g6.8xlarge=2.23666 g6.12xlarge=5.10933 g6.16xlarge=3.7716 g6.24xlarge=7.41173 g6.48xlarge=14.8235
ca-central-1 gr6.4xlarge=1.709 gr6.8xlarge=2.71628 g6f.large=0.22429 g6f.xlarge=0.26371 g6f.2xlarge=0.52741
ca-central-1 g6f.4xlarge=1.05482 gr6f.4xlarge=1.1836 g5.xlarge=1.117 g5.2xlarge=1.34573 g5.4xlarge=1.80319
ca-central-1 g5.8xlarge=2.71811 g5.12xlarge=6.29784 g5.16xlarge=4.54794 g5.24xlarge=9.04259
ca-central-1 g5.48xlarge=18.0852 g4dn.xlarge=0.584 g4dn.2xlarge=0.835 g4dn.4xlarge=1.337 g4dn.8xlarge=2.416
ca-central-1 g4dn.12xlarge=4.343 g4dn.16xlarge=4.832 g4dn.metal=8.687
eu-central-1 p4de.24xlarge=34.2912 p4d.24xlarge=27.433 g6e.xlarge=2.327 g6e.2xlarge=2.8035 g6e.4xlarge=3.75651
eu-central-1 g6e.8xlarge=5.66252 g6e.12xlarge=13.12 g6e.16xlarge=9.47454 g6e.24xlarge=18.8381
eu-central-1 g6e.48xlarge=37.6761 g6.xlarge=1.0064 g6.2xlarge=1.22249 g6.4xlarge=1.65466 g6.8xlarge=2.519
eu-central-1 g6.12xlarge=5.75429 g6.16xlarge=4.24769 g6.24xlarge=8.34732 g6.48xlarge=16.6946
eu-central-1 gr6.4xlarge=1.9248 gr6.8xlarge=3.05927 g6f.large=0.25261 g6f.xlarge=0.297 g6f.2xlarge=0.594
eu-central-1 g6f.4xlarge=1.188 gr6f.4xlarge=1.33305 g5.xlarge=1.258 g5.2xlarge=1.5156 g5.4xlarge=2.03081
eu-central-1 g5.8xlarge=3.06122 g5.12xlarge=7.09282 g5.16xlarge=5.12204 g5.24xlarge=10.184 g5.48xlarge=20.3681
eu-central-1 g5g.xlarge=0.5254 g5g.2xlarge=0.6955 g5g.4xlarge=1.0358 g5g.8xlarge=1.7163 g5g.16xlarge=3.4326
eu-central-1 g5g.metal=3.4326 g4dn.xlarge=0.658 g4dn.2xlarge=0.94 g4dn.4xlarge=1.505 g4dn.8xlarge=2.72
eu-central-1 g4dn.12xlarge=4.89 g4dn.16xlarge=5.44 g4dn.metal=9.78
eu-central-2 g6.xlarge=1.085 g6.2xlarge=1.31796 g6.4xlarge=1.78389 g6.8xlarge=2.71574 g6.12xlarge=6.2037
eu-central-2 g6.16xlarge=4.57943 g6.24xlarge=8.99924 g6.48xlarge=17.9985 gr6.4xlarge=2.1649
eu-central-2 gr6.8xlarge=3.44089
eu-north-1 p5en.48xlarge=67.7267 p5.48xlarge=58.8928 p4d.24xlarge=23.7157 g6e.xlarge=1.974 g6e.2xlarge=2.37822
eu-north-1 g6e.4xlarge=3.18666 g6e.8xlarge=4.80353 g6e.12xlarge=11.1297 g6e.16xlarge=8.03728
eu-north-1 g6e.24xlarge=15.9804 g6e.48xlarge=31.9608 g6.xlarge=0.8536 g6.2xlarge=1.03688 g6.4xlarge=1.40343
eu-north-1 g6.8xlarge=2.13655 g6.12xlarge=4.88062 g6.16xlarge=3.60277 g6.24xlarge=7.07996 g6.48xlarge=14.1599
eu-north-1 gr6.4xlarge=1.6326 gr6.8xlarge=2.59485 g6f.large=0.21424 g6f.xlarge=0.2519 g6f.2xlarge=0.50379
eu-north-1 g6f.4xlarge=1.00758 gr6f.4xlarge=1.13069 g5.xlarge=1.067 g5.2xlarge=1.28549 g5.4xlarge=1.72247
eu-north-1 g5.8xlarge=2.59644 g5.12xlarge=6.01593 g5.16xlarge=4.34437 g5.24xlarge=8.63782 g5.48xlarge=17.2756
eu-north-1 g4dn.xlarge=0.558 g4dn.2xlarge=0.798 g4dn.4xlarge=1.277 g4dn.8xlarge=2.308 g4dn.12xlarge=4.15
eu-north-1 g4dn.16xlarge=4.617 g4dn.metal=8.3
eu-south-1 g4dn.xlarge=0.616 g4dn.2xlarge=0.88 g4dn.4xlarge=1.41 g4dn.8xlarge=2.547 g4dn.12xlarge=4.58
eu-south-1 g4dn.16xlarge=5.095 g4dn.metal=9.16
eu-south-2 p5en.48xlarge=68.3597 g6e.xlarge=1.961 g6e.2xlarge=2.36256 g6e.4xlarge=3.16567 g6e.8xlarge=4.7719
eu-south-2 g6e.12xlarge=11.0564 g6e.16xlarge=7.98435 g6e.24xlarge=15.8751 g6e.48xlarge=31.7503 g6.xlarge=0.848
eu-south-2 g6.2xlarge=1.03008 g6.4xlarge=1.39423 g6.8xlarge=2.12253 g6.12xlarge=4.8486 g6.16xlarge=3.57913
eu-south-2 g6.24xlarge=7.03351 g6.48xlarge=14.067 gr6.4xlarge=1.6218 gr6.8xlarge=2.57768 g6f.large=0.22725
eu-south-2 g6f.xlarge=0.26719 g6f.2xlarge=0.53438 g6f.4xlarge=1.06875 gr6f.4xlarge=1.19925 g5g.xlarge=0.4687
eu-south-2 g5g.2xlarge=0.6205 g5g.4xlarge=0.924 g5g.8xlarge=1.5311 g5g.16xlarge=3.0622 g5g.metal=3.0622
eu-west-1 p4d.24xlarge=23.7157 p3dn.24xlarge=33.711 g5.xlarge=1.123 g5.2xlarge=1.35296 g5.4xlarge=1.81287
eu-west-1 g5.8xlarge=2.73271 g5.12xlarge=6.33167 g5.16xlarge=4.57237 g5.24xlarge=9.09117 g5.48xlarge=18.1823
eu-west-1 g4dn.xlarge=0.587 g4dn.2xlarge=0.838 g4dn.4xlarge=1.342 g4dn.8xlarge=2.426 g4dn.12xlarge=4.362
eu-west-1 g4dn.16xlarge=4.853 g4dn.metal=8.724
eu-west-2 p5.4xlarge=8.944 p5.48xlarge=71.552 p4d.24xlarge=28.5449 g6.xlarge=1.0216 g6.2xlarge=1.24095
eu-west-2 g6.4xlarge=1.67965 g6.8xlarge=2.55705 g6.12xlarge=5.8412 g6.16xlarge=4.31184 g6.24xlarge=8.47339
eu-west-2 g6.48xlarge=16.9468 gr6.4xlarge=1.9539 gr6.8xlarge=3.10552 g6f.large=0.25642 g6f.xlarge=0.30149
eu-west-2 g6f.2xlarge=0.60298 g6f.4xlarge=1.20595 gr6f.4xlarge=1.35321 g5.xlarge=1.277 g5.2xlarge=1.53849
eu-west-2 g5.4xlarge=2.06148 g5.8xlarge=3.10745 g5.12xlarge=7.19994 g5.16xlarge=5.1994 g5.24xlarge=10.3379
eu-west-2 g5.48xlarge=20.6757 g4dn.xlarge=0.615 g4dn.2xlarge=0.88 g4dn.4xlarge=1.409 g4dn.8xlarge=2.546
eu-west-2 g4dn.12xlarge=4.577 g4dn.16xlarge=5.092 g4dn.metal=9.154
eu-west-3 g6.xlarge=1.0216 g6.2xlarge=1.24095 g6.4xlarge=1.67965 g6.8xlarge=2.55705 g6.12xlarge=5.8412
eu-west-3 g6.16xlarge=4.31184 g6.24xlarge=8.47339 g6.48xlarge=16.9468 gr6.4xlarge=1.9538 gr6.8xlarge=3.10536
eu-west-3 g4dn.xlarge=0.615 g4dn.2xlarge=0.879 g4dn.4xlarge=1.408 g4dn.8xlarge=2.544 g4dn.12xlarge=4.574
eu-west-3 g4dn.16xlarge=5.088 g4dn.metal=9.148
il-central-1 p4de.24xlarge=35.5735 g5.xlarge=1.17915 g5.2xlarge=1.42061 g5.4xlarge=1.90352 g5.8xlarge=2.86934
il-central-1 g5.12xlarge=6.64825 g5.16xlarge=4.80099 g5.24xlarge=9.54572 g5.48xlarge=19.0914
me-central-1 p5en.48xlarge=75.9552 g6.xlarge=0.98824 g6.2xlarge=1.20043 g6.4xlarge=1.6248 g6.8xlarge=2.47355
me-central-1 g6.12xlarge=5.65045 g6.16xlarge=4.17104 g6.24xlarge=8.19669 g6.48xlarge=16.3934 g5.xlarge=1.234
me-central-1 g5.2xlarge=1.48669 g5.4xlarge=1.99206 g5.8xlarge=3.00282 g5.12xlarge=6.9575 g5.16xlarge=5.02432
me-central-1 g5.24xlarge=9.98976 g5.48xlarge=19.9795
me-south-1 g4dn.xlarge=0.645 g4dn.2xlarge=0.922 g4dn.4xlarge=1.477 g4dn.8xlarge=2.669 g4dn.12xlarge=4.798
me-south-1 g4dn.16xlarge=5.338 g4dn.metal=9.596
sa-east-1 p5.4xlarge=11.5584 p5.48xlarge=92.4672 p4d.24xlarge=35.5569 g6.xlarge=1.368 g6.2xlarge=1.66173
sa-east-1 g6.4xlarge=2.24918 g6.8xlarge=3.42408 g6.12xlarge=7.82181 g6.16xlarge=5.77388 g6.24xlarge=11.3465
sa-east-1 g6.48xlarge=22.693 gr6.4xlarge=2.6164 gr6.8xlarge=4.1585 g6f.large=0.34336 g6f.xlarge=0.40371
sa-east-1 g6f.2xlarge=0.80742 g6f.4xlarge=1.61483 gr6f.4xlarge=1.81203 g5.xlarge=1.71 g5.2xlarge=2.06016
sa-east-1 g5.4xlarge=2.76048 g5.8xlarge=4.16111 g5.12xlarge=9.64127 g5.16xlarge=6.96239 g5.24xlarge=13.8432
sa-east-1 g5.48xlarge=27.6864 g4dn.xlarge=0.894 g4dn.2xlarge=1.278 g4dn.4xlarge=2.046 g4dn.8xlarge=3.698
sa-east-1 g4dn.12xlarge=6.649 g4dn.16xlarge=7.397 g4dn.metal=13.298
us-east-2 p6-b200.48xlarge=113.933 p5en.48xlarge=63.296 p5.4xlarge=6.88 p5.48xlarge=55.04 p4d.24xlarge=21.9576
us-east-2 g7e.2xlarge=3.36312 g7e.4xlarge=3.99816 g7e.8xlarge=5.26824 g7e.12xlarge=8.28608
us-east-2 g7e.24xlarge=16.5722 g7e.48xlarge=33.1443 g6e.xlarge=1.861 g6e.2xlarge=2.24208 g6e.4xlarge=3.00424
us-east-2 g6e.8xlarge=4.52856 g6e.12xlarge=10.4926 g6e.16xlarge=7.57719 g6e.24xlarge=15.0656
us-east-2 g6e.48xlarge=30.1312 g6.xlarge=0.8048 g6.2xlarge=0.9776 g6.4xlarge=1.3232 g6.8xlarge=2.0144
us-east-2 g6.12xlarge=4.6016 g6.16xlarge=3.3968 g6.24xlarge=6.6752 g6.48xlarge=13.3504 gr6.4xlarge=1.5392
us-east-2 gr6.8xlarge=2.4464 g6f.large=0.202 g6f.xlarge=0.2375 g6f.2xlarge=0.475 g6f.4xlarge=0.95
us-east-2 gr6f.4xlarge=1.066 g5.xlarge=1.006 g5.2xlarge=1.212 g5.4xlarge=1.624 g5.8xlarge=2.448
us-east-2 g5.12xlarge=5.672 g5.16xlarge=4.096 g5.24xlarge=8.144 g5.48xlarge=16.288 g4dn.xlarge=0.526
us-east-2 g4dn.2xlarge=0.752 g4dn.4xlarge=1.204 g4dn.8xlarge=2.176 g4dn.12xlarge=3.912 g4dn.16xlarge=4.352
us-east-2 g4dn.metal=7.824
us-gov-east-1 p3dn.24xlarge=37.454 g6.xlarge=1.0144 g6.2xlarge=1.2322 g6.4xlarge=1.66781 g6.8xlarge=2.53903
us-gov-east-1 g6.12xlarge=5.80003 g6.16xlarge=4.28145 g6.24xlarge=8.41367 g6.48xlarge=16.8273
us-gov-east-1 gr6.4xlarge=1.9401 gr6.8xlarge=3.08359 g4dn.xlarge=0.663 g4dn.2xlarge=0.948 g4dn.4xlarge=1.518
us-gov-east-1 g4dn.8xlarge=2.743 g4dn.12xlarge=4.931 g4dn.16xlarge=5.486
us-gov-west-1 p5en.48xlarge=75.9552 p5.4xlarge=8.256 p5.48xlarge=66.048 p4d.24xlarge=26.3511
us-gov-west-1 p3dn.24xlarge=37.454 g6.xlarge=1.0144 g6.2xlarge=1.2322 g6.4xlarge=1.66781 g6.8xlarge=2.53903
us-gov-west-1 g6.12xlarge=5.80003 g6.16xlarge=4.28145 g6.24xlarge=8.41367 g6.48xlarge=16.8273
us-gov-west-1 gr6.4xlarge=1.9401 gr6.8xlarge=3.08359 g4dn.xlarge=0.663 g4dn.2xlarge=0.948 g4dn.4xlarge=1.518
us-gov-west-1 g4dn.8xlarge=2.743 g4dn.12xlarge=4.931 g4dn.16xlarge=5.486 g4dn.metal=9.862
us-west-1 p5en.48xlarge=79.12 p5.48xlarge=68.8 g4dn.xlarge=0.631 g4dn.2xlarge=0.902 g4dn.4xlarge=1.445
us-west-1 g4dn.8xlarge=2.611 g4dn.12xlarge=4.694 g4dn.16xlarge=5.222 g4dn.metal=9.389
us-west-2 p6-b300.48xlarge=142.416 p6-b200.48xlarge=113.933 p5en.48xlarge=63.296 p5.4xlarge=6.88
us-west-2 p5.48xlarge=55.04 p4de.24xlarge=27.4471 p4d.24xlarge=21.9576 p3dn.24xlarge=31.212 g6e.xlarge=1.861
us-west-2 g6e.2xlarge=2.24208 g6e.4xlarge=3.00424 g6e.8xlarge=4.52856 g6e.12xlarge=10.4926
us-west-2 g6e.16xlarge=7.57719 g6e.24xlarge=15.0656 g6e.48xlarge=30.1312 g6.xlarge=0.8048 g6.2xlarge=0.9776
us-west-2 g6.4xlarge=1.3232 g6.8xlarge=2.0144 g6.12xlarge=4.6016 g6.16xlarge=3.3968 g6.24xlarge=6.6752
us-west-2 g6.48xlarge=13.3504 gr6.4xlarge=1.5392 gr6.8xlarge=2.4464 g6f.large=0.202 g6f.xlarge=0.2375
us-west-2 g6f.2xlarge=0.475 g6f.4xlarge=0.95 gr6f.4xlarge=1.066 g5.xlarge=1.006 g5.2xlarge=1.212
us-west-2 g5.4xlarge=1.624 g5.8xlarge=2.448 g5.12xlarge=5.672 g5.16xlarge=4.096 g5.24xlarge=8.144
us-west-2 g5.48xlarge=16.288 g5g.xlarge=0.42 g5g.2xlarge=0.556 g5g.4xlarge=0.828 g5g.8xlarge=1.372
us-west-2 g5g.16xlarge=2.744 g5g.metal=2.744 g4dn.xlarge=0.526 g4dn.2xlarge=0.752 g4dn.4xlarge=1.204
us-west-2 g4dn.8xlarge=2.176 g4dn.12xlarge=3.912 g4dn.16xlarge=4.352 g4dn.metal=7.824
"""
