/** What `explain` says about a recipient: of each gate (gates.ts), and of what waits although no gate holds it. */
import { textsOf } from '#src/platform/coded-text.ts'

export const GATE_TEXTS = {
  not_evaluated: 'not evaluated; {state}: {meaning}',
  not_scheduled: 'it is not scheduled',
  scheduled_time_passed: 'its scheduled time was {at}',
  waits_for_scheduled_time: 'it waits for its scheduled time',
  suppressed: 'its address has been on the suppression list since {since}',
  was_suppressed: 'its address was on the suppression list when it was accepted, and is no longer on it',
  not_suppressed: 'its address is not on the suppression list',
  counted: 'it was counted when it was accepted',
  counted_and_quota_used:
    'it was counted when it was accepted; the quota is now used up, and no more mail is accepted this month',
  redis_unavailable: 'not known: Redis is unavailable',
  instant_first: 'instant mail comes first',
  no_higher_tier: 'no mail of a higher tier is ready at its site',
  higher_tiers_first: 'mail of higher tiers is ready at its site and goes first: {ahead}',
  source_busy: '{reason}',
  no_connection_limit: 'no outbound process is at the connection limit of its site',
  connections: 'connections to {site} in use: {count}; waiting for one: {waiting}',
  connections_to_its_site: 'connections to its site in use: {count}; waiting for one: {waiting}',
  not_suspended: 'its destination is not suspended',
  account_suspended: 'its connected account is suspended: {reason}',
  campaign_held_back: 'its campaign is {reason}',
  all_suspended: 'all mail is suspended by the operator: {reason}',
  domain_suspended: '{subject} is suspended by the operator: {reason}',
  object_suspended: 'its {kind} {subject} is suspended by the operator: {reason}',
  domain_paused: '{subject} is suspended {reason}',
  object_paused: 'its {kind} {subject} is suspended {reason}',
  receiver_suspended: '{receiver} is suspended{from} because of this reply: {reply}',
  every_receiver_suspended: 'every receiver is suspended{from} because of this reply: {reply}',
  result_unknown: '{reason}',
  last_attempt: 'the last attempt ended with: {reason}',
  last_attempt_without_reason: 'the last attempt ended with: no reason is known',
  circuit_breaker: 'all servers of its site failed: {detail}',
  no_failed_attempt: 'no attempt has failed yet',
  attempts_used: 'attempts used: {used} of {max}',
  dns_failed: '{reason}',
  no_dns_failure: 'no DNS failure is known',
  source_available: 'a source may send it',
  no_source: '{reason}',
} as const

export const gateText = textsOf('gate', GATE_TEXTS)

/** The rule by which a gate holds a recipient or lets it pass. */
export const GATE_RULE_TEXTS = {
  schedule: 'scheduled_at {at}, time zone {zone}',
  suppression: '{kind}: {cause}',
  no_quota: 'plan {plan}: no quota',
  quota: 'plan {plan}: {quota|recipient|recipients} a month, {used} used',
  tiers: 'strict priority of tiers at each site',
  tiers_of: 'strict priority of tiers at each site; this is {tier}',
  each_source: 'the limits of a receiver apply to each source separately',
  connections: '{count|connection|connections} at once to {receiver}',
  connections_from: '{count|connection|connections} at once to {receiver} from {source}',
  suspended: 'suspended since {since}, until it is resumed',
  complete: 'a live installation must be complete before campaigns go out',
  shaping: 'rule {rule} of the shaping file',
  circuit_breaker: 'circuit breaker: open after {failures|failure|failures} in a row',
  unknown_sent: 'tier {tier}: {seconds} s after a connection lost after the final dot, then assumed to be sent',
  unknown_again: 'tier {tier}: {seconds} s after a connection lost after the final dot, then sent again',
  backoff: 'tier {tier}: {used} of {attempts|attempt|attempts} used, backoff {waits} s',
  backoff_scaled: 'tier {tier}: {used} of {attempts|attempt|attempts} used, backoff {waits} s, times {scale}',
  dns: 'a DNS failure is temporary: the lookup is retried and does not count as an attempt',
  egress: 'a source that is paused, gone or at its daily limit sends nothing; this does not count as an attempt',
} as const

export const gateRuleText = textsOf('gate_rule', GATE_RULE_TEXTS)

export const PROGRESS_TEXTS = {
  not_due: 'it is not due yet',
  redis_unavailable: 'it is due; where it waits is not known, because Redis is unavailable',
  ready: 'it is ready at {site} and waits for its turn',
  ready_for_pool: 'it is ready at {site} and waits for a node with a source of pool {pool}',
  claimed_soon: 'it is due and will be claimed soon',
  looked_up: 'its MX hosts are being looked up, or it will be scheduled again within {seconds} seconds',
} as const

export const progressText = textsOf('progress', PROGRESS_TEXTS)
