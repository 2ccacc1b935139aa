"""Small matrices as lists of rows."""

Matrix = list[list[float]]


def zeros(rows: int, columns: int) -> Matrix:
    """A matrix of zeros."""
    return [[0] * columns] * rows


def identity(size: int) -> Matrix:
    """Ones on the diagonal."""
    return [[1 if row == column else 0 for column in range(size)] for row in range(size)]


def transpose(matrix: Matrix) -> Matrix:
    """Rows become columns."""
    return [list(column) for column in zip(*matrix)]


def multiply(left: Matrix, right: Matrix) -> Matrix:
    """The product of two matrices.

    Raises:
        ValueError: their sizes do not fit.
    """
    if len(left[0]) != len(right):
        raise ValueError(f"{len(left[0])} columns do not meet {len(right)} rows")
    product = zeros(len(left), len(right[0]))
    for i, row in enumerate(left):
        for j, column in enumerate(zip(*right)):
            product[i][j] = sum(a * b for a, b in zip(row, column))
    return product
