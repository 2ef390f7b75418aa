"""What all tests share: property tests have no deadline, since the machine may be busy with other work.

``pytest --hypothesis-profile thorough`` tries twenty times as many examples.
"""

from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("default")
