import hidet

# disable CUDA Graph
hidet.torch.dynamo_config.use_cuda_graph(False)

# automatically transform the model to use float16 data type
hidet.torch.dynamo_config.use_fp16(True)

# use float16 data type as the accumulate data type in operators with reduction
hidet.torch.dynamo_config.use_fp16_reduction(True)
