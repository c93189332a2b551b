"""List prices of Compute Engine outside us-central1, one line per region: `type=usd/spot` an hour.

A type without a price in a region is not sold there, or no source lists it.
"""

GCE_REGIONS = """
africa-south1 e2-standard-2=0.0737155/0.022864 e2-standard-4=0.147431/0.045728 e2-standard-8=0.294862/0.091456
africa-south1 n2-standard-4=0.213668/0.072016 n2-standard-8=0.427336/0.144032 n2-standard-16=0.854672/0.288064
asia-east1 a3-highgpu-1g=12.7948/5.99979 a3-highgpu-2g=25.5897/11.9996 a3-highgpu-4g=51.1794/23.9992
asia-east1 a3-highgpu-8g=102.359/47.9983 g2-standard-4=0.818441/0.386852 g2-standard-8=0.988412/0.467204
asia-east1 g2-standard-12=1.15838/0.547556 g2-standard-16=1.32835/0.627908 g2-standard-24=2.31676/1.09511
asia-east1 g2-standard-32=2.00823/0.949316 g2-standard-48=4.63353/2.19022 g2-standard-96=9.26706/4.38045
asia-east1 g4-standard-6=0.727423/0.291177 g4-standard-12=1.46248/0.585415 g4-standard-24=2.92495/1.17083
asia-east1 g4-standard-48=5.84991/2.34166 g4-standard-96=11.6998/4.68332 g4-standard-192=23.3996/9.36664
asia-east1 g4-standard-384=46.7993/18.7333 e2-standard-2=0.0775919/0.040552 e2-standard-4=0.155184/0.081104
asia-east1 e2-standard-8=0.310368/0.162208 n2-standard-4=0.224904/0.083568 n2-standard-8=0.449808/0.167136
asia-east1 n2-standard-16=0.899616/0.334272
asia-east2 e2-standard-2=0.0937613/0.019416 e2-standard-4=0.187523/0.038832 e2-standard-8=0.375045/0.077664
asia-east2 n2-standard-4=0.271772/0.08664 n2-standard-8=0.543544/0.17328 n2-standard-16=1.08709/0.34656
asia-northeast1 a2-highgpu-1g=4.04959/2.42968 a2-highgpu-2g=8.09918/4.85935 a2-highgpu-4g=16.1984/9.7187
asia-northeast1 a2-highgpu-8g=32.3967/19.4374 a3-highgpu-1g=15.8304/3.23875 a3-highgpu-2g=31.6608/6.47751
asia-northeast1 a3-highgpu-4g=63.3217/12.955 a3-highgpu-8g=126.643/25.91 g2-standard-4=0.907714/0.544596
asia-northeast1 g2-standard-8=1.09622/0.657692 g2-standard-12=1.28473/0.770788 g2-standard-16=1.47324/0.883884
asia-northeast1 g2-standard-24=2.56947/1.54158 g2-standard-32=2.22729/1.33627 g2-standard-48=5.13894/3.08315
asia-northeast1 g2-standard-96=10.2779/6.1663 e2-standard-2=0.0859657/0.051584 e2-standard-4=0.171931/0.103168
asia-northeast1 e2-standard-8=0.343863/0.206336 n2-standard-4=0.249176/0.065408
asia-northeast1 n2-standard-8=0.498352/0.130816 n2-standard-16=0.996704/0.261632
asia-northeast1 c3-standard-4=0.258905/0.038808 c3-standard-8=0.51781/0.077616
asia-northeast2 e2-standard-2=0.0859657/0.02254 e2-standard-4=0.171931/0.04508 e2-standard-8=0.343863/0.09016
asia-northeast2 n2-standard-4=0.249436/0.061328 n2-standard-8=0.498872/0.122656
asia-northeast2 n2-standard-16=0.997744/0.245312
asia-northeast3 a2-highgpu-1g=4.04959/2.15148 a2-highgpu-2g=8.09918/4.30295 a2-highgpu-4g=16.1984/8.6059
asia-northeast3 a2-highgpu-8g=32.3967/17.2118 g2-standard-4=0.907714/0.270872 g2-standard-8=1.09622/0.327144
asia-northeast3 g2-standard-12=1.28473/0.383416 g2-standard-16=1.47324/0.439688
asia-northeast3 g2-standard-24=2.56947/0.766832 g2-standard-32=2.22729/0.664776 g2-standard-48=5.13894/1.53366
asia-northeast3 g2-standard-96=10.2779/3.06733 e2-standard-2=0.0859657/0.030764
asia-northeast3 e2-standard-4=0.171931/0.061528 e2-standard-8=0.343863/0.123056
asia-northeast3 n2-standard-4=0.249436/0.081656 n2-standard-8=0.498872/0.163312
asia-northeast3 n2-standard-16=0.997744/0.326624
asia-south1 a3-highgpu-1g=11.5168/4.70556 a3-highgpu-2g=23.0337/9.41113 a3-highgpu-4g=46.0674/18.8223
asia-south1 a3-highgpu-8g=92.1348/37.6445 g2-standard-4=0.735779/0.324484 g2-standard-8=0.888583/0.391868
asia-south1 g2-standard-12=1.04139/0.459252 g2-standard-16=1.19419/0.526636 g2-standard-24=2.08277/0.918504
asia-south1 g2-standard-32=1.8054/0.796172 g2-standard-48=4.16555/1.83701 g2-standard-96=8.33109/3.67402
asia-south1 g4-standard-48=5.84959/2.3397 g4-standard-96=11.6992/4.6794 g4-standard-192=23.3984/9.3588
asia-south1 g4-standard-384=46.7967/18.7176 e2-standard-2=0.0804844/0.048288 e2-standard-4=0.160969/0.096576
asia-south1 e2-standard-8=0.321937/0.193152 n2-standard-4=0.233288/0.070968 n2-standard-8=0.466576/0.141936
asia-south1 n2-standard-16=0.933152/0.283872 c3-standard-4=0.209672/0.03328 c3-standard-8=0.419345/0.06656
asia-south2 a3-highgpu-1g=13.2856/3.89003 a3-highgpu-2g=26.5712/7.78006 a3-highgpu-4g=53.1423/15.5601
asia-south2 a3-highgpu-8g=106.285/31.1202 g4-standard-48=5.84991/2.3397 g4-standard-96=11.6998/4.6794
asia-south2 g4-standard-192=23.3996/9.3588 g4-standard-384=46.7993/18.7176 e2-standard-2=0.0804844/0.034536
asia-south2 e2-standard-4=0.160969/0.069072 e2-standard-8=0.321937/0.138144 n2-standard-4=0.233288/0.021008
asia-south2 n2-standard-8=0.466576/0.042016 n2-standard-16=0.933152/0.084032 c3-standard-4=0.209679/0.028848
asia-south2 c3-standard-8=0.419358/0.057696
asia-southeast1 a2-highgpu-1g=4.01376/2.40826 a2-highgpu-2g=8.02752/4.81652 a2-highgpu-4g=16.055/9.63304
asia-southeast1 a2-highgpu-8g=32.1101/19.2661 a2-megagpu-16g=60.4762/36.2858 a2-ultragpu-1g=6.24769/3.24873
asia-southeast1 a2-ultragpu-2g=12.4954/6.49746 a2-ultragpu-4g=24.9907/12.9949 a2-ultragpu-8g=49.9815/25.9898
asia-southeast1 a3-highgpu-1g=14.2848/6.40233 a3-highgpu-2g=28.5696/12.8047 a3-highgpu-4g=57.1391/25.6093
asia-southeast1 a3-highgpu-8g=114.278/51.2187 g2-standard-4=0.872019/0.523272 g2-standard-8=1.05312/0.631944
asia-southeast1 g2-standard-12=1.23421/0.740616 g2-standard-16=1.41531/0.849288 g2-standard-24=2.46843/1.48123
asia-southeast1 g2-standard-32=2.1397/1.28398 g2-standard-48=4.93685/2.96246 g2-standard-96=9.87371/5.92493
asia-southeast1 g4-standard-48=5.39992/2.16018 g4-standard-96=10.7998/4.32036 g4-standard-192=21.5997/8.64072
asia-southeast1 g4-standard-384=43.1993/17.2814 e2-standard-2=0.0826661/0.043164
asia-southeast1 e2-standard-4=0.165332/0.086328 e2-standard-8=0.330665/0.172656 n2-standard-4=0.239612/0.09332
asia-southeast1 n2-standard-8=0.479224/0.18664 n2-standard-16=0.958448/0.37328 c3-standard-4=0.248724/0.117016
asia-southeast1 c3-standard-8=0.497448/0.234032
asia-southeast2 g4-standard-48=6.05106/2.42044 g4-standard-96=12.1021/4.84088 g4-standard-192=24.2042/9.68176
asia-southeast2 g4-standard-384=48.4085/19.3635 e2-standard-2=0.0901061/0.018956
asia-southeast2 e2-standard-4=0.180212/0.037912 e2-standard-8=0.360424/0.075824 n2-standard-4=0.261177/0.1364
asia-southeast2 n2-standard-8=0.522354/0.2728 n2-standard-16=1.04471/0.5456
australia-southeast1 a3-highgpu-1g=13.8348/3.47257 a3-highgpu-2g=27.6696/6.94514 a3-highgpu-4g=55.3391/13.8903
australia-southeast1 a3-highgpu-8g=110.678/27.7806 e2-standard-2=0.095082/0.044324
australia-southeast1 e2-standard-4=0.190164/0.088648 e2-standard-8=0.380328/0.177296
australia-southeast1 n2-standard-4=0.2756/0.105624 n2-standard-8=0.5512/0.211248
australia-southeast1 n2-standard-16=1.1024/0.422496 c3-standard-4=0.25201/0.066912
australia-southeast1 c3-standard-8=0.50402/0.133824
australia-southeast2 e2-standard-2=0.080816/0.040432 e2-standard-4=0.161632/0.080864
australia-southeast2 e2-standard-8=0.323264/0.161728 n2-standard-4=0.234256/0.087504
australia-southeast2 n2-standard-8=0.468512/0.175008 n2-standard-16=0.937024/0.350016
australia-southeast2 c3-standard-4=0.26209/0.051216 c3-standard-8=0.524181/0.102432
europe-central2 e2-standard-2=0.0810838/0.02326 e2-standard-4=0.162168/0.04652 e2-standard-8=0.324335/0.09304
europe-central2 n2-standard-4=0.235032/0.067968 n2-standard-8=0.470064/0.135936
europe-central2 n2-standard-16=0.940128/0.271872
europe-north1 a3-highgpu-1g=12.1795/1.27568 a3-highgpu-2g=24.3589/2.55137 a3-highgpu-4g=48.7178/5.10274
europe-north1 a3-highgpu-8g=97.4356/10.2055 g4-standard-6=0.615512/0.246208 g4-standard-12=1.23748/0.495
europe-north1 g4-standard-24=2.47496/0.99 g4-standard-48=4.94992/1.98 g4-standard-96=9.89985/3.96
europe-north1 g4-standard-192=19.7997/7.92 g4-standard-384=39.5994/15.84 e2-standard-2=0.0737776/0.019628
europe-north1 e2-standard-4=0.147555/0.039256 e2-standard-8=0.29511/0.078512 n2-standard-4=0.213848/0.100656
europe-north1 n2-standard-8=0.427696/0.201312 n2-standard-16=0.855392/0.402624 c3-standard-4=0.221991/0.053296
europe-north1 c3-standard-8=0.443981/0.106592
europe-north2 e2-standard-2=0.070362/0.017272 e2-standard-4=0.140724/0.034544 e2-standard-8=0.281448/0.069088
europe-southwest1 e2-standard-2=0.079076/0.041288 e2-standard-4=0.158152/0.082576
europe-southwest1 e2-standard-8=0.316304/0.165152 n2-standard-4=0.229198/0.0518 n2-standard-8=0.458397/0.1036
europe-southwest1 n2-standard-16=0.916794/0.2072
europe-west1 a3-highgpu-1g=12.1712/4.75827 a3-highgpu-2g=24.3425/9.51655 a3-highgpu-4g=48.6849/19.0331
europe-west1 a3-highgpu-8g=97.3698/38.0662 g2-standard-4=0.778293/0.357456 g2-standard-8=0.939926/0.431712
europe-west1 g2-standard-12=1.10156/0.505968 g2-standard-16=1.26319/0.580224 g2-standard-24=2.20312/1.01194
europe-west1 g2-standard-32=1.90972/0.877248 g2-standard-48=4.40623/2.02387 g2-standard-96=8.81247/4.04774
europe-west1 g4-standard-48=4.94992/1.98 g4-standard-96=9.89985/3.96 g4-standard-192=19.7997/7.92
europe-west1 g4-standard-384=39.5994/15.84 e2-standard-2=0.0737155/0.035704 e2-standard-4=0.147431/0.071408
europe-west1 e2-standard-8=0.294862/0.142816 n2-standard-4=0.213668/0.046888 n2-standard-8=0.427336/0.093776
europe-west1 n2-standard-16=0.854672/0.187552 c3-standard-4=0.221991/0.084776 c3-standard-8=0.443981/0.169552
europe-west10 g4-standard-48=5.3991/2.16055 g4-standard-96=10.7982/4.3211 g4-standard-192=21.5964/8.6422
europe-west10 g4-standard-384=43.1928/17.2844 e2-standard-2=0.0863382/0.01388 e2-standard-4=0.172676/0.02776
europe-west10 e2-standard-8=0.345353/0.05552 n2-standard-4=0.250256/0.0484 n2-standard-8=0.500512/0.0968
europe-west10 n2-standard-16=1.00102/0.1936
europe-west12 e2-standard-2=0.0864447/0.02178 e2-standard-4=0.172889/0.04356 e2-standard-8=0.345779/0.08712
europe-west12 n2-standard-4=0.250564/0.04264 n2-standard-8=0.501129/0.08528 n2-standard-16=1.00226/0.17056
europe-west2 g2-standard-4=0.804789/0.48288 g2-standard-8=0.971925/0.58316 g2-standard-12=1.13906/0.68344
europe-west2 g2-standard-16=1.3062/0.78372 g2-standard-24=2.27812/1.36688 g2-standard-32=1.97474/1.18484
europe-west2 g2-standard-48=4.55624/2.73376 g2-standard-96=9.11248/5.46752 g4-standard-6=0.671467/0.268614
europe-west2 g4-standard-12=1.34998/0.540045 g4-standard-24=2.69996/1.08009 g4-standard-48=5.39992/2.16018
europe-west2 g4-standard-96=10.7998/4.32036 g4-standard-192=21.5997/8.64072 g4-standard-384=43.1993/17.2814
europe-west2 e2-standard-2=0.0863356/0.027372 e2-standard-4=0.172671/0.054744 e2-standard-8=0.345342/0.109488
europe-west2 n2-standard-4=0.250248/0.050624 n2-standard-8=0.500496/0.101248 n2-standard-16=1.00099/0.202496
europe-west2 c3-standard-4=0.229833/0.137904 c3-standard-8=0.459666/0.275808
europe-west3 a3-highgpu-1g=13.0539/5.35186 a3-highgpu-2g=26.1078/10.7037 a3-highgpu-4g=52.2157/21.4074
europe-west3 a3-highgpu-8g=104.431/42.8149 g2-standard-4=0.833028/0.4998 g2-standard-8=1.00603/0.6036
europe-west3 g2-standard-12=1.17903/0.7074 g2-standard-16=1.35203/0.8112 g2-standard-24=2.35805/1.4148
europe-west3 g2-standard-32=2.04403/1.2264 g2-standard-48=4.71611/2.8296 g2-standard-96=9.43222/5.6592
europe-west3 e2-standard-2=0.0863356/0.041932 e2-standard-4=0.172671/0.083864 e2-standard-8=0.345342/0.167728
europe-west3 n2-standard-4=0.250248/0.099592 n2-standard-8=0.500496/0.199184 n2-standard-16=1.00099/0.398368
europe-west3 c3-standard-4=0.237897/0.084312 c3-standard-8=0.475795/0.168624
europe-west4 a2-highgpu-1g=3.74797/1.69284 a2-highgpu-2g=7.49594/3.38567 a2-highgpu-4g=14.9919/6.77134
europe-west4 a2-highgpu-8g=29.9838/13.5427 a2-megagpu-16g=56.6266/25.5762 a2-ultragpu-1g=5.58092/2.94521
europe-west4 a2-ultragpu-2g=11.1618/5.89041 a2-ultragpu-4g=22.3237/11.7808 a2-ultragpu-8g=44.6473/23.5617
europe-west4 a3-highgpu-1g=14.0676/5.51485 a3-highgpu-2g=28.1351/11.0297 a3-highgpu-4g=56.2702/22.0594
europe-west4 a3-highgpu-8g=112.54/44.1188 g2-standard-4=0.742916/0.38986 g2-standard-8=0.897202/0.47082
europe-west4 g2-standard-12=1.05149/0.55178 g2-standard-16=1.20577/0.63274 g2-standard-24=2.10298/1.10356
europe-west4 g2-standard-32=1.82292/0.95658 g2-standard-48=4.20595/2.20712 g2-standard-96=8.4119/4.41424
europe-west4 g4-standard-6=0.615512/0.246208 g4-standard-12=1.23748/0.495 g4-standard-24=2.47496/0.99
europe-west4 g4-standard-48=4.94992/1.98 g4-standard-96=9.89985/3.96 g4-standard-192=19.7997/7.92
europe-west4 g4-standard-384=39.5994/15.84 e2-standard-2=0.073772/0.035264 e2-standard-4=0.147544/0.070528
europe-west4 e2-standard-8=0.295088/0.141056 n2-standard-4=0.213832/0.077736 n2-standard-8=0.427664/0.155472
europe-west4 n2-standard-16=0.855328/0.310944 c3-standard-4=0.211688/0.089376 c3-standard-8=0.423377/0.178752
europe-west6 g2-standard-4=0.975748/0.565076 g2-standard-8=1.16806/0.676452 g2-standard-12=1.36036/0.787828
europe-west6 g2-standard-16=1.55267/0.899204 g2-standard-24=2.72073/1.57566 g2-standard-32=2.3219/1.34471
europe-west6 g2-standard-48=5.44145/3.15131 g2-standard-96=10.8829/6.30262 e2-standard-2=0.0877827/0.0345
europe-west6 e2-standard-4=0.175565/0.069 e2-standard-8=0.351131/0.138 n2-standard-4=0.254452/0.081968
europe-west6 n2-standard-8=0.508904/0.163936 n2-standard-16=1.01781/0.327872
europe-west8 g4-standard-48=5.39992/2.16018 g4-standard-96=10.7998/4.32036 g4-standard-192=21.5997/8.64072
europe-west8 g4-standard-384=43.1993/17.2814 e2-standard-2=0.077732/0.0353 e2-standard-4=0.155464/0.0706
europe-west8 e2-standard-8=0.310928/0.1412 n2-standard-4=0.225314/0.027408 n2-standard-8=0.450628/0.054816
europe-west8 n2-standard-16=0.901255/0.109632
europe-west9 a3-highgpu-1g=12.8311/2.92898 a3-highgpu-2g=25.6621/5.85796 a3-highgpu-4g=51.3242/11.7159
europe-west9 a3-highgpu-8g=102.648/23.4318 e2-standard-2=0.077732/0.0384 e2-standard-4=0.155464/0.0768
europe-west9 e2-standard-8=0.310928/0.1536 n2-standard-4=0.225314/0.05568 n2-standard-8=0.450628/0.11136
europe-west9 n2-standard-16=0.901255/0.22272 c3-standard-4=0.233865/0.073088 c3-standard-8=0.467731/0.146176
me-central1 e2-standard-2=0.0814189/0.030664 e2-standard-4=0.162838/0.061328 e2-standard-8=0.325675/0.122656
me-central1 n2-standard-4=0.235997/0.05544 n2-standard-8=0.471994/0.11088 n2-standard-16=0.943987/0.22176
me-central2 g2-standard-4=1.13093/0.587508 g2-standard-8=1.3658/0.709516 g2-standard-12=1.60067/0.831524
me-central2 g2-standard-16=1.83553/0.953532 g2-standard-24=3.20133/1.66305 g2-standard-32=2.775/1.44156
me-central2 g2-standard-48=6.40266/3.3261 g2-standard-96=12.8053/6.65219 g4-standard-48=5.3991/2.15982
me-central2 g4-standard-96=10.7982/4.31964 g4-standard-192=21.5964/8.63928 g4-standard-384=43.1928/17.2786
me-central2 e2-standard-2=0.107218/0.055736 e2-standard-4=0.214437/0.111472 e2-standard-8=0.428873/0.222944
me-central2 n2-standard-4=0.310778/0.047072 n2-standard-8=0.621555/0.094144 n2-standard-16=1.24311/0.188288
me-central2 c3-standard-4=0.322573/0.05324 c3-standard-8=0.645146/0.10648
me-west1 a2-highgpu-1g=4.04072/2.42438 a2-highgpu-2g=8.08145/4.84876 a2-highgpu-4g=16.1629/9.69752
me-west1 a2-highgpu-8g=32.3258/19.395 e2-standard-2=0.0737126/0.036412 e2-standard-4=0.147425/0.072824
me-west1 e2-standard-8=0.29485/0.145648 n2-standard-4=0.21366/0.095912 n2-standard-8=0.427319/0.191824
me-west1 n2-standard-16=0.854638/0.383648 c3-standard-4=0.221769/0.04352 c3-standard-8=0.443538/0.08704
northamerica-northeast1 g2-standard-4=0.778293/0.41044 g2-standard-8=0.939926/0.49568
northamerica-northeast1 g2-standard-12=1.10156/0.58092 g2-standard-16=1.26319/0.66616
northamerica-northeast1 g2-standard-24=2.20312/1.16184 g2-standard-32=1.90972/1.00712
northamerica-northeast1 g2-standard-48=4.40623/2.32368 g2-standard-96=8.81247/4.64736
northamerica-northeast1 e2-standard-2=0.073772/0.021936 e2-standard-4=0.147544/0.043872
northamerica-northeast1 e2-standard-8=0.295088/0.087744 n2-standard-4=0.213832/0.067584
northamerica-northeast1 n2-standard-8=0.427664/0.135168 n2-standard-16=0.855328/0.270336
northamerica-northeast1 c3-standard-4=0.221991/0.064744 c3-standard-8=0.443981/0.129488
northamerica-northeast2 g2-standard-4=0.778293/0.418544 g2-standard-8=0.939926/0.505488
northamerica-northeast2 g2-standard-12=1.10156/0.592432 g2-standard-16=1.26319/0.679376
northamerica-northeast2 g2-standard-24=2.20312/1.18486 g2-standard-32=1.90972/1.02715
northamerica-northeast2 g2-standard-48=4.40623/2.36973 g2-standard-96=8.81247/4.73946
northamerica-northeast2 e2-standard-2=0.073772/0.014108 e2-standard-4=0.147544/0.028216
northamerica-northeast2 e2-standard-8=0.295088/0.056432 n2-standard-4=0.213832/0.019296
northamerica-northeast2 n2-standard-8=0.427664/0.038592 n2-standard-16=0.855328/0.077184
northamerica-south1 e2-standard-2=0.0730424/0.026388 e2-standard-4=0.146085/0.052776
northamerica-south1 e2-standard-8=0.29217/0.105552
southamerica-east1 e2-standard-2=0.10637/0.019444 e2-standard-4=0.212741/0.038888
southamerica-east1 e2-standard-8=0.425482/0.077776 n2-standard-4=0.30832/0.062544
southamerica-east1 n2-standard-8=0.61664/0.125088 n2-standard-16=1.23328/0.250176
southamerica-east1 c3-standard-4=0.320133/0.033912 c3-standard-8=0.640267/0.067824
southamerica-west1 e2-standard-2=0.0958263/0.033176 e2-standard-4=0.191653/0.066352
southamerica-west1 e2-standard-8=0.383305/0.132704 n2-standard-4=0.277757/0.0658 n2-standard-8=0.555515/0.1316
southamerica-west1 n2-standard-16=1.11103/0.2632
us-east1 a2-highgpu-1g=3.67339/1.92802 a2-highgpu-2g=7.34677/3.85604 a2-highgpu-4g=14.6935/7.71208
us-east1 a2-highgpu-8g=29.3871/15.4242 g2-standard-4=0.706832/0.397336 g2-standard-8=0.853624/0.479872
us-east1 g2-standard-12=1.00042/0.562408 g2-standard-16=1.14721/0.644944 g2-standard-24=2.00083/1.12482
us-east1 g2-standard-32=1.73438/0.975088 g2-standard-48=4.00167/2.24963 g2-standard-96=8.00333/4.49926
us-east1 g4-standard-6=0.559556/0.223803 g4-standard-12=1.12498/0.449955 g4-standard-24=2.24996/0.89991
us-east1 g4-standard-48=4.49993/1.79982 g4-standard-96=8.99986/3.59964 g4-standard-192=17.9997/7.19928
us-east1 g4-standard-384=35.9994/14.3986 e2-standard-2=0.0670114/0.040212 e2-standard-4=0.134023/0.080424
us-east1 e2-standard-8=0.268046/0.160848 n2-standard-4=0.194236/0.09212 n2-standard-8=0.388472/0.18424
us-east1 n2-standard-16=0.776944/0.36848 c3-standard-4=0.201608/0.0494 c3-standard-8=0.403216/0.0988
us-east4 a2-ultragpu-1g=5.70773/2.36725 a2-ultragpu-2g=11.4155/4.73451 a2-ultragpu-4g=22.8309/9.46901
us-east4 a2-ultragpu-8g=45.6619/18.938 a3-highgpu-1g=11.0695/4.5401 a3-highgpu-2g=22.1389/9.08021
us-east4 a3-highgpu-4g=44.2779/18.1604 a3-highgpu-8g=88.5558/36.3208 g2-standard-4=0.704518/0.310596
us-east4 g2-standard-8=0.850829/0.375092 g2-standard-12=0.997141/0.439588 g2-standard-16=1.14345/0.504084
us-east4 g2-standard-24=1.99428/0.879176 g2-standard-32=1.7287/0.762068 g2-standard-48=3.98856/1.75835
us-east4 g2-standard-96=7.97712/3.5167 g4-standard-48=4.49993/1.79982 g4-standard-96=8.99986/3.59964
us-east4 g4-standard-192=17.9997/7.19928 g4-standard-384=35.9994/14.3986 e2-standard-2=0.0754708/0.04138
us-east4 e2-standard-4=0.150942/0.08276 e2-standard-8=0.301883/0.16552 n2-standard-4=0.218756/0.050072
us-east4 n2-standard-8=0.437512/0.100144 n2-standard-16=0.875024/0.200288 c3-standard-4=0.201608/0.057248
us-east4 c3-standard-8=0.403216/0.114496
us-east5 a2-ultragpu-1g=5.56491/1.77785 a2-ultragpu-2g=11.1298/3.5557 a2-ultragpu-4g=22.2597/7.11139
us-east5 a2-ultragpu-8g=44.5193/14.2228 a3-highgpu-1g=12.4479/4.65976 a3-highgpu-2g=24.8958/9.31953
us-east5 a3-highgpu-4g=49.7916/18.6391 a3-highgpu-8g=99.5832/37.2781 g4-standard-6=0.615512/0.246208
us-east5 g4-standard-12=1.23748/0.495 g4-standard-24=2.47496/0.99 g4-standard-48=4.94992/1.98
us-east5 g4-standard-96=9.89985/3.96 g4-standard-192=19.7997/7.92 g4-standard-384=39.5994/15.84
us-east5 e2-standard-2=0.0670114/0.023252 e2-standard-4=0.134023/0.046504 e2-standard-8=0.268046/0.093008
us-east5 n2-standard-4=0.194236/0.091904 n2-standard-8=0.388472/0.183808 n2-standard-16=0.776944/0.367616
us-east5 c3-standard-4=0.201608/0.061848 c3-standard-8=0.403216/0.123696
us-south1 g4-standard-6=0.559556/0.223803 g4-standard-12=1.12498/0.449955 g4-standard-24=2.24996/0.89991
us-south1 g4-standard-48=4.49993/1.79982 g4-standard-96=8.99986/3.59964 g4-standard-192=17.9997/7.19928
us-south1 g4-standard-384=35.9994/14.3986 e2-standard-2=0.0790735/0.025476 e2-standard-4=0.158147/0.050952
us-south1 e2-standard-8=0.316294/0.101904 n2-standard-4=0.229198/0.051048 n2-standard-8=0.458397/0.102096
us-south1 n2-standard-16=0.916794/0.204192 c3-standard-4=0.237897/0.025192 c3-standard-8=0.475795/0.050384
us-west1 a2-highgpu-1g=3.67339/1.92802 a2-highgpu-2g=7.34677/3.85604 a2-highgpu-4g=14.6935/7.71208
us-west1 a2-highgpu-8g=29.3871/15.4242 a3-highgpu-1g=11.0612/6.32619 a3-highgpu-2g=22.1225/12.6524
us-west1 a3-highgpu-4g=44.245/25.3048 a3-highgpu-8g=88.49/50.6095 g2-standard-4=0.706832/0.397336
us-west1 g2-standard-8=0.853624/0.479872 g2-standard-12=1.00042/0.562408 g2-standard-16=1.14721/0.644944
us-west1 g2-standard-24=2.00083/1.12482 g2-standard-32=1.73438/0.975088 g2-standard-48=4.00167/2.24963
us-west1 g2-standard-96=8.00333/4.49926 g4-standard-48=4.49993/1.79982 g4-standard-96=8.99986/3.59964
us-west1 g4-standard-192=17.9997/7.19928 g4-standard-384=35.9994/14.3986 e2-standard-2=0.0670114/0.040212
us-west1 e2-standard-4=0.134023/0.080424 e2-standard-8=0.268046/0.160848 n2-standard-4=0.194236/0.09212
us-west1 n2-standard-8=0.388472/0.18424 n2-standard-16=0.776944/0.36848 c3-standard-4=0.201608/0.0494
us-west1 c3-standard-8=0.403216/0.0988
us-west2 e2-standard-2=0.0804899/0.024824 e2-standard-4=0.16098/0.049648 e2-standard-8=0.32196/0.099296
us-west2 n2-standard-4=0.233304/0.07632 n2-standard-8=0.466608/0.15264 n2-standard-16=0.933216/0.30528
us-west2 c3-standard-4=0.242353/0.046136 c3-standard-8=0.484706/0.092272
us-west3 a2-highgpu-1g=4.32507/2.59497 a2-highgpu-2g=8.65014/5.18993 a2-highgpu-4g=17.3003/10.3799
us-west3 a2-highgpu-8g=34.6005/20.7597 g4-standard-48=4.94992/1.98 g4-standard-96=9.89985/3.96
us-west3 g4-standard-192=19.7997/7.92 g4-standard-384=39.5994/15.84 e2-standard-2=0.0804899/0.021192
us-west3 e2-standard-4=0.16098/0.042384 e2-standard-8=0.32196/0.084768 n2-standard-4=0.233304/0.078896
us-west3 n2-standard-8=0.466608/0.157792 n2-standard-16=0.933216/0.315584 c3-standard-4=0.242353/0.1454
us-west3 c3-standard-8=0.484706/0.2908
us-west4 a2-highgpu-1g=3.93435/1.81683 a2-highgpu-2g=7.86871/3.63367 a2-highgpu-4g=15.7374/7.26734
us-west4 a2-highgpu-8g=31.4748/14.5347 a3-highgpu-1g=12.4561/4.65945 a3-highgpu-2g=24.9122/9.31891
us-west4 a3-highgpu-4g=49.8245/18.6378 a3-highgpu-8g=99.649/37.2756 g2-standard-4=0.796105/0.46244
us-west4 g2-standard-8=0.961437/0.55848 g2-standard-12=1.12677/0.65452 g2-standard-16=1.2921/0.75056
us-west4 g2-standard-24=2.25354/1.30904 g2-standard-32=1.95343/1.13472 g2-standard-48=4.50708/2.61808
us-west4 g2-standard-96=9.01415/5.23616 g4-standard-48=4.94992/1.98 g4-standard-96=9.89985/3.96
us-west4 g4-standard-192=19.7997/7.92 g4-standard-384=39.5994/15.84 e2-standard-2=0.0754708/0.009088
us-west4 e2-standard-4=0.150942/0.018176 e2-standard-8=0.301883/0.036352 n2-standard-4=0.218748/0.112208
us-west4 n2-standard-8=0.437496/0.224416 n2-standard-16=0.874992/0.448832 c3-standard-4=0.227071/0.078096
us-west4 c3-standard-8=0.454142/0.156192
"""
