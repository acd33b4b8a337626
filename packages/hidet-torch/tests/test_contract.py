from hidet.testing.frontend_contract import FrontendContract


class TestContract(FrontendContract):
    name = "torch"
    author = "torch_author:TorchAuthor"
