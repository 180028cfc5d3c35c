"""Which files a member changed, from its transcript."""

from deskmate.core.agent.entries import Call, Did, Entry, Said
from deskmate.core.log.records import Damaged, Item, Record
from deskmate.core.radar.edited_files import EditedFiles

WRITES = Said(calls=(Call(tool="read_file", arguments={}), Call(tool="write_file", arguments={})))


def items(*entries: Entry) -> list[Item]:
    return [Record(number, entry.body()) for number, entry in enumerate(entries, 1)]


def test_a_file_counts_once_its_change_succeeded() -> None:
    read = Did(call="ann:1.0", text="", files={"read.py": "aa"})
    wrote = Did(call="ann:1.1", text="", files={"written.py": "bb"})
    before = EditedFiles("ann").after(items(WRITES, read))
    assert before.files == {}
    assert EditedFiles("ann").after(items(WRITES, read, wrote)).files == {"written.py": "bb"}


def test_a_change_that_failed_does_not_count() -> None:
    failed = Did(call="ann:1.1", text="It exists and you have not read it.", ok=False)
    assert EditedFiles("ann").after(items(WRITES, failed)).files == {}


def test_reading_a_transcript_in_parts_gives_the_same() -> None:
    again = Said(calls=(Call(tool="edit_file", arguments={}), Call(tool="edit_file", arguments={})))
    one, other = Did(call="ann:3.0", text="", files={"b": "2"}), Did(call="ann:3.1", text="", files={"a": "3"})
    all_ = items(WRITES, Did(call="ann:1.1", text="", files={"a": "1"}), again, one, other)
    whole = EditedFiles("ann").after(all_)
    assert list(whole.files.items()) == [("b", "2"), ("a", "3")]
    for cut in range(len(all_)):
        assert EditedFiles("ann").after(all_[:cut]).after(all_[cut:]) == whole


def test_a_damaged_record_is_passed_over() -> None:
    assert EditedFiles("ann").after([Damaged(1, "lost", "log/ann", "not JSON")]).number == 1
