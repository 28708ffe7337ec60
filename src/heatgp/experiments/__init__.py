"""The paper's experiments, one module for each table or figure: `heatgp reproduce`.

Reference: Ye, Niu, Cheung, Dai, Liu (2024).
"""
