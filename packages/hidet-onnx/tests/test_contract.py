from hidet.testing.frontend_contract import FrontendContract


class TestContract(FrontendContract):
    name = "onnx"
    author = "onnx_author:OnnxAuthor"
