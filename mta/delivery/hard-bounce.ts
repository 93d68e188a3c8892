/**
 * Which results may put an address on the suppression list: hard refusals of the recipient, by its server or by DNS. The sandbox addresses
 * that simulate a refusal are excluded, so that they can be used again. Pure, except for new event ids.
 */
import type { Config } from '#config/load.ts'
import { isPlayed } from '#mta/sandbox/simulators.ts'
import type { Claimed } from '#src/messages/claim.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import type { Moving } from '#src/messages/transition.ts'
import { newId } from '#src/platform/id.ts'
import { receiverOf } from '#src/suppression/receiver.ts'
import type { Refused } from '#src/suppression/suppress-hard-bounces.ts'

export interface SuppressionCandidate {
  readonly moving: Moving
  /** The hard bounce; null: the result is none. */
  readonly hardBounce: Refused | null
}

/** Returns the transition, with the id of its event where a suppression will name it as its cause. */
export function withSuppressionCandidate(
  config: Pick<Config, 'isSandbox' | 'captureDomain'>,
  claimed: Claimed,
  { outcome, host }: Attempt,
  moving: Moving,
): SuppressionCandidate {
  const isHard = outcome.kind === 'bounced' && outcome.isHard && outcome.scope === 'recipient'
  const { workspaceId, address, domain, messageId } = claimed
  if (!isHard || isPlayed(config, address)) return { moving, hardBounce: null }
  const eventId = newId()
  const { reply, detail } = outcome
  const hardBounce: Refused = {
    workspaceId,
    address,
    receiver: receiverOf(host, domain),
    class: outcome.reason,
    eventId,
    messageId,
    reply: { code: reply?.code ?? null, status: reply?.enhanced ?? null, text: reply?.text ?? detail },
  }
  return { moving: { ...moving, eventId }, hardBounce }
}
