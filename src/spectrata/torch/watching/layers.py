"""Find the modules of a model to watch, and what in their output is one vector per node."""

import sys
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

import torch

from spectrata.errors import OptionError

# Module paths of graph libraries whose layers are known by where they come from.
_LIBRARIES = ("dgl.nn",)


def find_layers(model: torch.nn.Module) -> dict[str, torch.nn.Module]:
    """Find the message-passing layers of a model by name, outermost only, in the order of definition.

    Layers of PyTorch Geometric and DGL are known by their classes. In a model without any, the innermost modules of
    the model's own classes count (not those of torch, not the model itself).

    Parameters
    ----------
    model : torch.nn.Module

    Returns
    -------
    dict
        Name -> module, as ``model.named_modules()`` names them.

    Examples
    --------
    >>> import torch
    >>> from spectrata.torch import find_layers
    >>> from torch_geometric.nn import GCNConv
    >>> model = torch.nn.ModuleList([GCNConv(4, 8), torch.nn.ReLU(), GCNConv(8, 2)])
    >>> list(find_layers(model))
    ['0', '2']
    """
    found = {name: module for name, module in model.named_modules() if _passes_messages(module)}
    if found:
        return {name: module for name, module in found.items() if not _is_inside(name, found)}
    own = {
        name: module
        for name, module in model.named_modules()
        if name and not _of_torch(module) and all(_of_torch(one) for one in module.modules() if one is not module)
    }
    if own:
        return own
    names = [name for name, module in model.named_modules() if name and not list(module.children())]
    raise OptionError(
        "No message-passing layer was found in the model; name the modules to watch with layers=, "
        f"such as layers={names[:3]}."
    )


def resolve_layers(
    model: torch.nn.Module, layers: str | torch.nn.Module | Iterable[str | torch.nn.Module] | None
) -> dict[str, torch.nn.Module]:
    """Modules by name: found by themselves, or as chosen by names or modules."""
    if layers is None:
        return find_layers(model)
    chosen = [layers] if isinstance(layers, str | torch.nn.Module) else list(layers)
    if not chosen:
        raise OptionError("layers is empty; leave it out to have message-passing layers found.")
    modules = dict(model.named_modules())
    names = {id(module): name for name, module in modules.items()}
    found: dict[str, torch.nn.Module] = {}
    for one in chosen:
        if isinstance(one, str):
            known = [one] if one in modules else [name for name in modules if _matches(name, one)]
            if not known:
                some = ", ".join(map(repr, list(modules)[1:7])) + (", ..." if len(modules) > 7 else "")
                raise OptionError(f"No module of the model matches {one!r}; it has {some}.")
            found |= {name: modules[name] for name in known}
        elif isinstance(one, torch.nn.Module) and id(one) in names:
            found[names[id(one)] or "model"] = one
        else:
            raise OptionError(f"layers holds {type(one).__name__}, which is not a module of this model.")
    return found


def find_readers(model: torch.nn.Module, watched: dict[str, torch.nn.Module]) -> dict[str, torch.nn.Module]:
    """Other layers of a model, whose inputs are its hidden states: message passing and linear maps, outermost."""
    try:
        found = find_layers(model)
    except OptionError:
        found = {}
    found |= {name: module for name, module in model.named_modules() if isinstance(module, torch.nn.Linear) and name}
    taken = {id(module) for module in watched.values()}
    free = {name: module for name, module in found.items() if name and id(module) not in taken}
    return {name: module for name, module in free.items() if not _is_inside(name, {**watched, **found})}


def _matches(name: str, pattern: str) -> bool:
    """Whether a dotted name fits a pattern, part by part: ``convs.*`` is every entry of convs, and nothing in them."""
    parts, patterns = name.split("."), pattern.split(".")
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def node_rows(output: Any, n_nodes: int | None) -> torch.Tensor | None:
    """The tensor with one row per node in a layer's output, as ``(n, d)``; None where there is none.

    Tuples and mappings are searched in order, as layers return attention or states beside their output.
    """
    for tensor in _tensors(output):
        if not tensor.is_floating_point() or tensor.ndim == 0 or tensor.layout != torch.strided:
            continue
        if n_nodes is None or tensor.shape[0] == n_nodes:
            return tensor.reshape(tensor.shape[0], -1)
        if tensor.ndim == 3 and tensor.shape[:2] == (1, n_nodes):
            return tensor[0]
    return None


def _tensors(output: Any) -> Iterable[torch.Tensor]:
    if isinstance(output, torch.Tensor):
        yield output
    elif isinstance(output, dict):
        for value in output.values():
            yield from _tensors(value)
    elif isinstance(output, list | tuple):
        for value in output:
            yield from _tensors(value)


def _passes_messages(module: torch.nn.Module) -> bool:
    if "torch_geometric.nn" in sys.modules:
        from torch_geometric.nn import MessagePassing

        if isinstance(module, MessagePassing):
            return True
    home = type(module).__module__
    return any(home.startswith(library) for library in _LIBRARIES) and not list(module.children())


def _is_inside(name: str, others: Iterable[str]) -> bool:
    return any(other != name and (other == "" or name.startswith(f"{other}.")) for other in others)


def _of_torch(module: torch.nn.Module) -> bool:
    return type(module).__module__.partition(".")[0] == "torch"
