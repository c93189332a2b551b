"""Duration and utilisation of jobs, predicted from what is known when they are submitted."""

from gpuyard.advice.predict.jobs import DURATION, UTILISATION, Measure, job_features, predict_jobs
from gpuyard.advice.predict.preemption import (
    PREEMPTION_RATIO,
    PreemptionAdvice,
    RunningEstimate,
    advise_preemption,
)
from gpuyard.advice.predict.quantiles import Features, Prediction, QuantilePredictor, Submission

__all__ = [
    "DURATION",
    "PREEMPTION_RATIO",
    "UTILISATION",
    "Features",
    "Measure",
    "Prediction",
    "PreemptionAdvice",
    "QuantilePredictor",
    "RunningEstimate",
    "Submission",
    "advise_preemption",
    "job_features",
    "predict_jobs",
]
