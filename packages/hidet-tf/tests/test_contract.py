from hidet.testing.frontend_contract import FrontendContract


class TestContract(FrontendContract):
    name = "tf"
    author = "tf_author:TfAuthor"
