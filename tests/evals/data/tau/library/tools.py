"""The tools of a small library. They know nothing of Groundwire."""


class LibraryTools:
    def __init__(self, db):
        self.db = db

    def find_reader(self, reader_id: str) -> dict:
        """Look a reader up.

        Args:
            reader_id: The number on the card, such as r1.
        """
        if reader_id not in self.db["readers"]:
            raise ValueError(f"there is no reader {reader_id}")
        return self.db["readers"][reader_id]

    def extend_loan(self, book_id: str, days: int = 14) -> dict:
        """Extend the loan of a book.

        Args:
            book_id: The number of the book, such as b1.
            days: By how many days.
        """
        loan = self.db["books"][book_id]["loan"]
        if loan is None or loan["extended"]:
            raise ValueError(f"{book_id} cannot be extended")
        loan["due"] += days
        loan["extended"] = True
        return loan

    def reserve_book(self, reader_id: str, book_id: str) -> list[str]:
        """Reserve a book for a reader.

        Args:
            reader_id: Who wants it.
            book_id: What they want.
        """
        reservations = self.db["readers"][reader_id]["reservations"]
        reservations.append(book_id)
        return reservations

    def assert_extended(self, book_id: str) -> bool:
        return self.db["books"][book_id]["loan"]["extended"]
