/**
 * The interface between scheduling and delivery: a claimed recipient with the source that was selected for it, and
 * how far its delivery is. Scheduling creates these values, delivery uses them and enters a session of the throttle;
 * the scheduler leaves it when the delivery has ended.
 */
import type { LocalEndpoint } from '#mta/egress/local-endpoint.ts'
import type { Throttle } from '#mta/shaping/throttle.ts'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import type { DeliveryTrace } from './delivery-span.ts'

/** The source that a recipient leaves from, with the receiver's throttle for that source. */
export interface SelectedSource {
  /** The source's name; null: the system chooses the address. */
  readonly source: string | null
  readonly throttle: Throttle
  /**
   * The best endpoint of each address family, the source's own first. Empty: nothing is to be sent; preparation finds
   * the reason.
   */
  readonly endpoints: readonly LocalEndpoint[]
  /** The throttle of another of the endpoints. */
  readonly throttleOf: (source: string | null) => Throttle
  /** False once the operator removed the source, its address left the machine, or the receiver suspended it. */
  readonly isUsable: () => boolean
  /** Must be called once, with the attempt; null: no attempt was made. */
  readonly finish: (attempt: Attempt | null) => void
}

/** A recipient that this process has claimed, from the claim to the end of its attempt. */
export interface ClaimedDelivery {
  readonly claimed: ClaimedRecipient
  /** The site that its domain led to when it was claimed. */
  readonly site: string
  readonly selected: SelectedSource
  /** When it was claimed, by `performance.now()`. */
  readonly heldSinceMs: number
  /** How far it is: the message is prepared, waits for a session of the throttle, or uses one. */
  phase: 'preparing' | 'waiting' | 'in-session'
  /** Set when its attempt begins, if its trace is recorded. */
  trace?: DeliveryTrace
}

/** Conditions that the scheduler checks for a delivery that is under way. */
export interface SessionGrant {
  /** True once the process stops: nothing begins any more. */
  readonly isStopped: () => boolean
  /** False once the lease is lost. Checked again right before the message is transmitted. */
  readonly mayProceed: () => boolean
}
