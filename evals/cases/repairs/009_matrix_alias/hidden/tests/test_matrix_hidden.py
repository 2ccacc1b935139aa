from matrix import identity, multiply, zeros


def test_identity_changes_nothing():
    matrix = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert multiply(identity(3), matrix) == matrix
    assert multiply(matrix, identity(3)) == matrix


def test_rows_of_zeros_are_rows_of_their_own():
    made = zeros(3, 2)
    made[0][0] = 7
    assert made == [[7, 0], [0, 0], [0, 0]]
