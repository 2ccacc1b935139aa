from semver import Version, newest


def test_the_order_that_semver_org_shows():
    order = "alpha alpha.1 alpha.beta beta beta.2 beta.11 rc.1".split()
    versions = [Version(f"1.0.0-{pre}") for pre in order] + [Version("1.0.0")]
    assert sorted(reversed(versions)) == versions
    assert all(a < b for a, b in zip(versions, versions[1:]))


def test_in_every_place():
    assert newest(["9.0.0", "10.0.0"]) == "10.0.0"
    assert newest(["1.0.9", "1.0.10"]) == "1.0.10"
