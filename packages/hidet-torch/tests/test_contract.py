from hidet.testing.frontend_contract import FrontendContract

AWAITED = {
    "control_flow-branches": "cond has no converter yet",
    "control_flow-sizes_of_calls": "while_loop has no converter yet",
    "control_flow-weights_in_turns": "while_loop has no converter yet",
    "control_flow-branches_in_turns": "while_loop has no converter yet",
    "control_flow-turns_by_data": "while_loop has no converter yet",
}


class TestContract(FrontendContract):
    name = "torch"
    author = "torch_author:TorchAuthor"
    awaited = AWAITED
