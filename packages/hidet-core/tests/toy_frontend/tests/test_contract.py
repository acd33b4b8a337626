from toy_author import ToyAuthor

from hidet.testing.frontend_contract import FrontendContract


class TestContract(FrontendContract):
    name = "toy"
    author = ToyAuthor
