"""Tabular data: learn which of a ward's five patients are ill from their number and thirty measurements each.

There are no images and no labels of patients: the answer is a count for the ward (scikit-learn's breast cancer data).
Inputs of shape (wards, patients, measurements) get a small fully connected network, the same for every patient.
"""

import torch
from sklearn.datasets import load_breast_cancer

import softground as sg

WARD = 5
measured, benign = load_breast_cancer(return_X_y=True)
patients, ill = torch.tensor(measured).float(), torch.tensor(1 - benign)


def count_ill(*patients: str) -> int:
    """Count the ill patients of a ward."""
    return patients.count("ill")


def wards(count: int, part: str) -> tuple[torch.Tensor, list[int], torch.Tensor]:
    """Make measurements, counts and, for the report only, labels. The last 169 patients are held out."""
    first, last = (0, 400) if part == "train" else (400, 569)
    pick = torch.randint(first, last, (count, WARD), generator=torch.Generator().manual_seed(len(part)))
    return patients[pick], ill[pick].sum(1).tolist(), ill[pick]


def main(epochs: int = 10, count: int = 1000) -> float:
    """Train from counts; return the held-out accuracy for patients."""
    x, y, _ = wards(count, "train")
    model = sg.SoftGrounder(count_ill, alphabets=[("well", "ill")] * WARD, epochs=epochs).fit(x, y)
    x, y, truth = wards(1000, "test")
    right = float(((model.predict(x) == "ill") == truth.bool().numpy()).mean())
    print(f"held-out counts {model.score(x, y):.1%}, patients {right:.1%}")
    return right


if __name__ == "__main__":
    main()
