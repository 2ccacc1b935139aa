package checkrein.rules.commit_test

import data.checkrein.rules.commit

import future.keywords.not

by(user, purpose, authority) := {
	"action": {"capability": "workspace.publish"},
	"attempt": {"purpose": purpose},
	"actor": {"user": user},
	"task": {"commit_authority": authority},
}

denied := {{"reason_code": "commit_authority_only"}}

test_the_authority_may_publish_in_a_commit if {
	asked := by("bob", "commit", "bob")
	commit.allow == {{"reason_code": "final_commit"}} with input as asked
	commit.deny == set() with input as asked
}

test_the_authority_may_be_a_role if {
	asked := object.union(by("bob", "commit", "publisher"), {"actor": {"roles": ["publisher"]}})
	commit.allow == {{"reason_code": "final_commit"}} with input as asked
	commit.deny == set() with input as asked
	other := object.union(by("bob", "commit", "publisher"), {"actor": {"roles": ["approver"]}})
	commit.deny == denied with input as other
}

test_nobody_else_may if {
	asked := by("eve", "commit", "bob")
	commit.allow == set() with input as asked
	commit.deny == denied with input as asked
}

test_work_never_publishes_though_the_authority_asked_for_it if {
	asked := by("bob", "work", "bob")
	commit.allow == set() with input as asked
	commit.deny == denied with input as asked
}

test_a_task_without_an_authority_is_never_published if {
	asked := by("bob", "commit", null)
	commit.allow == set() with input as asked
	commit.deny == denied with input as asked
}

test_an_input_that_says_nothing_of_it_is_denied if {
	commit.deny == denied with input as {"action": {"capability": "workspace.publish"}}
}

test_other_acts_are_not_judged_here if {
	asked := object.union(by("eve", "work", "bob"), {"action": {"capability": "workspace.read"}})
	commit.allow == set() with input as asked
	commit.deny == set() with input as asked
}
