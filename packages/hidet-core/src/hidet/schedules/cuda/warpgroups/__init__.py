"""Contractions by warpgroups: TMA pipelines, wgmma, persistent tile loops."""
