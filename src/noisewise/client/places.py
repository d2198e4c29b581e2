"""What makes, copies and checks studies, with the address of a server in the place of a store."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from noisewise.client.opening import connect, hidden, is_address
from noisewise.client.study import RemoteLog, RemoteStudy
from noisewise.study import creation, safekeeping
from noisewise.study.log import export
from noisewise.study.stores import address
from noisewise.study.study import Study

P = ParamSpec("P")
R = TypeVar("R")


def takes_addresses(function: Callable[P, R], *places: str) -> Callable[P, R]:
    """The same function, which takes the address of a server as well.

    Args:
        function: It takes a storage in the place of a store.
        places: Its arguments that are stores.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def anywhere(*args: P.args, **options: P.kwargs) -> R:
        given = dict(options)
        token = hidden(cast(Any, given.pop("token", None)))
        found = signature.bind(*args, **given).arguments
        addresses = [name for name in places if is_address(found.get(name))]
        if not addresses:
            if token is not None:
                raise ValueError("`token` goes with the address of a server, such as https://host/prefix.")
            return function(*args, **options)
        for name in addresses:
            found[name] = RemoteLog(connect(found[name], token))
        return _called(function, signature, found)

    return anywhere


def _called(function: Callable[..., R], signature: inspect.Signature, found: dict[str, Any]) -> R:
    bound = inspect.BoundArguments(signature, cast(Any, found))
    return function(*bound.args, **bound.kwargs)


def _create_anywhere(create: Callable[P, Study]) -> Callable[P, Study]:
    """Of a study on a server, the handle that lets the server change it."""

    @functools.wraps(create)
    def create_study(*args: P.args, **options: P.kwargs) -> Study:
        made = create(*args, **options)
        if not isinstance(made._log.storage, RemoteLog):
            return made
        return cast(Study, RemoteStudy(made._log.storage.connection, made.name))

    return create_study


create_study = _create_anywhere(takes_addresses(creation.create_study, "store"))
open_store = takes_addresses(address.open_store, "place")
find_study = takes_addresses(address.find_study, "store")
rebuild_study = takes_addresses(export.rebuild_study, "store")
backup_store = takes_addresses(export.backup_store, "store")
verify_log = takes_addresses(safekeeping.verify_log, "thing", "store")
