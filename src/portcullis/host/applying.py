# SPDX-License-Identifier: GPL-2.0-only
"""`apply` and `apply --undo` on a user's tree, and the quick update of a work tree."""

import json
from contextlib import suppress
from pathlib import Path

from portcullis.core.manifest import MANIFEST_NAME, Change, Manifest, digest, dump_manifest, load_manifest
from portcullis.core.topics import Selection
from portcullis.errors import ToolError
from portcullis.host.hardening import Plan, copy_pristine, make_plan, read_from
from portcullis.host.sources import Source, kernel_version
from portcullis.host.workspace import Workspace, disk_full_explained, write_whole

STATE_NAME = ".portcullis-work.json"


def plan_apply(workspace: Workspace, tree: Path, selection: Selection) -> Plan:
    """Checks everything that could go wrong and returns what apply would write; changes nothing."""
    version = kernel_version(tree)
    if (tree / MANIFEST_NAME).exists():
        raise ToolError(
            f"Portcullis is already applied to {tree} ({MANIFEST_NAME} is there)",
            f"take it back first: portcullis apply --undo {tree}",
        )
    return make_plan(workspace, version, selection, read_from(tree))


def apply(tree: Path, plan: Plan) -> Manifest:
    """Writes a plan; on any failure or Ctrl-C the tree is put back as it was."""
    read = read_from(tree)
    changes: dict[str, Change] = {}
    for path, content in plan.files.items():
        mode = (tree / path).stat().st_mode & 0o777 if (tree / path).exists() else 0o644
        changes[path] = Change(read(path), digest(content), mode)
    for path in plan.removed:
        changes[path] = Change(read(path), "", (tree / path).stat().st_mode & 0o777)
    topics, hooks = (topic.name for topic in plan.topics), (hook.id for hook in plan.hooks)
    manifest = Manifest(str(plan.version), plan.selection.arch, tuple(topics), tuple(hooks), changes)
    # The manifest goes first: a run that is killed half-way can still be undone.
    with disk_full_explained(tree):
        try:
            write_whole(tree / MANIFEST_NAME, dump_manifest(manifest).encode())
            for path, content in plan.files.items():
                (tree / path).parent.mkdir(parents=True, exist_ok=True)
                write_whole(tree / path, content, changes[path].mode)
            for path in plan.removed:
                (tree / path).unlink()
        except BaseException:
            _restore(tree, manifest)
            raise
    return manifest


def read_manifest(tree: Path) -> Manifest:
    """The manifest of a hardened tree; raises ToolError when there is none or it is damaged."""
    path = tree / MANIFEST_NAME
    if not tree.is_dir():
        raise ToolError(f"{tree} is not a folder")
    if not path.is_file():
        raise ToolError(f"Portcullis is not applied to {tree} (no {MANIFEST_NAME})", "nothing to undo")
    try:
        return load_manifest(path.read_text())
    except ValueError as error:
        raise ToolError(f"{path} cannot be read: {error}", "restore the tree from its origin") from error


def check_undo(tree: Path, manifest: Manifest) -> None:
    """Raises ToolError naming the files that were edited after apply.

    A file that is still as it was before apply is fine: apply was killed before it came to that file.
    """
    read = read_from(tree)
    edited = []
    for path, change in manifest.changes.items():
        content = read(path)
        now = "" if content is None else digest(content)
        if now != change.after and content != change.before:
            edited.append(path)
    if edited:
        names = "\n".join(f"    {path}" for path in edited)
        raise ToolError(
            f"these files were edited since Portcullis was applied; nothing was changed\n{names}",
            "save your edits elsewhere and put the files back, or remove the files, then undo again",
        )


def undo(tree: Path, manifest: Manifest) -> None:
    """Puts every file back and removes the manifest and folders that became empty."""
    check_undo(tree, manifest)
    with disk_full_explained(tree):
        _restore(tree, manifest)


def _restore(tree: Path, manifest: Manifest) -> None:
    read = read_from(tree)
    for path, change in manifest.changes.items():
        if change.before is None:
            (tree / path).unlink(missing_ok=True)
            _remove_empty_parents(tree, path)
        elif read(path) != change.before:
            write_whole(tree / path, change.before, change.mode)
    (tree / MANIFEST_NAME).unlink(missing_ok=True)


def _remove_empty_parents(tree: Path, path: str) -> None:
    for parent in Path(path).parents:
        if parent == Path():
            return
        with suppress(OSError):  # not empty
            (tree / parent).rmdir()
            continue
        return


def kept_by_update(tree: Path) -> frozenset[str]:
    """Files of a work copy that differ from the source because update_work_tree() wrote them."""
    state = tree / STATE_NAME
    return frozenset(json.loads(state.read_text())) if state.is_file() else frozenset()


def update_work_tree(
    workspace: Workspace, source: Source, tree: Path, selection: Selection, leave_out: str = ""
) -> bool:
    """Brings a work copy to the hardened state of this checkout; True when a file changed.

    Only files whose content differs are replaced, so that make compiles no more than it must.
    """
    plan = make_plan(workspace, source.version, selection, read_from(source.path), leave_out)
    state = tree / STATE_NAME
    before = kept_by_update(tree)
    # Written first, with old and new names: an interrupted update is then repaired by the next one.
    write_whole(state, json.dumps(sorted(before | set(plan.files))).encode())
    read = read_from(tree)
    changed = False
    for path in before - set(plan.files):
        copy_pristine(source.path, tree, path)
        changed = True
    for path, content in plan.files.items():
        if read(path) != content:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            write_whole(tree / path, content)
            changed = True
    for path in plan.removed:
        (tree / path).unlink(missing_ok=True)
    write_whole(state, json.dumps(sorted(plan.files)).encode())
    return changed
