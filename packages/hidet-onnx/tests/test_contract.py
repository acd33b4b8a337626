from hidet.testing.frontend_contract import FrontendContract

AWAITED = {
    "control_flow-branches": "If is converted only where its condition is known",
    "control_flow-sizes_of_calls": "Loop is converted only where its turns are known",
    "control_flow-branches_in_turns": "If is converted only where its condition is known",
}


class TestContract(FrontendContract):
    name = "onnx"
    author = "onnx_author:OnnxAuthor"
    awaited = AWAITED
