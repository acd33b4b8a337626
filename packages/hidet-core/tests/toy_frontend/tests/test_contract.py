from hidet.testing.frontend_contract import FrontendContract


class TestContract(FrontendContract):
    name = "toy"
    author = "toy_author:ToyAuthor"
