"""Your own rule: learn three handwritten digits a, b, c from the value of a × b + c."""

import torch
from sklearn.datasets import load_digits

import softground as sg

digits = load_digits()  # 1,797 real handwritten digits
images = torch.tensor(digits.images * 15.9).to(torch.uint8)[:, None]
truth = torch.tensor(digits.target)  # for the answers below; training never sees it


def examples(count: int, first: int, last: int) -> sg.Examples:
    pick = torch.randint(first, last, (count, 3), generator=torch.Generator().manual_seed(first))
    a, b, c = truth[pick].unbind(1)
    return sg.Examples(x=images[pick], y=(a * b + c).tolist(), symbols=truth[pick])


space = sg.Categorical([range(10)] * 3)  # three sites, each one of ten digits
rule = sg.Program(lambda a, b, c: a * b + c, space)  # any Python function from symbols to an answer
task = sg.Task(space, rule)
with sg.seeded(0):  # the same first weights each time
    network = sg.PerSite(sg.convnet((1, 8, 8), outputs=space.outputs, width=16), image=(1, 8, 8))
learner = sg.Learner(task, network, sg.grounding_stages(task, epochs=6))
learner.fit(train=examples(3000, 0, 1400), test=(test := examples(500, 1400, 1797)))
print(learner.results_["I"])  # {'answer_accuracy': 0.94…, 'symbol_accuracy': 0.97…, …}
print(learner.predict(test.x[:2]), test.y[:2])
