/**
 * What the deliverability desk knows: the mail of a day and a week by receiver and source, what holds it, and what is
 * wrong with the sources. `read-desk.ts` reads it, `action-rules.ts` finds what to do next. `Desk` of a workspace has
 * its own receivers and domains only.
 */
import type { SourceState } from '#src/egress/sources.ts'

/** Counts of recipients and attempts, as the statistics count them. */
export interface Traffic {
  readonly sent: number
  readonly delivered: number
  readonly deferred: number
  readonly bounced_hard: number
  readonly bounced_soft: number
  readonly failed: number
  readonly complained: number
}

export const TRAFFIC_COUNTERS = [
  'sent',
  'delivered',
  'deferred',
  'bounced_hard',
  'bounced_soft',
  'failed',
  'complained',
] as const satisfies readonly (keyof Traffic)[]

export interface TrafficAt {
  readonly at: Date
  readonly traffic: Traffic
}

/** Deferrals and bounces of one class at a receiver, in a day. */
export interface Reason {
  readonly class: string
  readonly deferred: number
  readonly bounced: number
  /** The receiver's own words, the last ones. */
  readonly reply: string | null
  readonly since: Date | null
}

export interface Throttle {
  /** Null: every source. */
  readonly source: string | null
  readonly state: 'suspended' | 'slowed'
  /** Connections at a time, as learned; null: suspended. */
  readonly connections: number | null
  readonly rule: string | null
  readonly reply: string | null
  readonly since: Date
  readonly until: Date | null
}

export interface WarmUpAllowance {
  readonly source: string
  /** From 1. */
  readonly day: number
  readonly allowance: number
  readonly taken: number
}

export interface ReceiverDesk {
  /** As the shaping file names it, or the domain of the MX host. */
  readonly name: string
  readonly title: string
  /** The domains of its MX hosts. */
  readonly domains: readonly string[]
  readonly day: Traffic
  readonly week: Traffic
  readonly hours: readonly TrafficAt[]
  readonly days: readonly TrafficAt[]
  /** Of `day.sent`. */
  readonly encrypted: number
  /** The most frequent first. */
  readonly reasons: readonly Reason[]
  readonly throttles: readonly Throttle[]
  readonly warmUps: readonly WarmUpAllowance[]
  /** The day by source; empty for a workspace. */
  readonly sources: readonly { readonly name: string; readonly traffic: Traffic }[]
}

export interface SourceProblem {
  readonly check: string
  readonly status: 'warning' | 'failed'
  readonly detail: string
  readonly todo: string
  readonly since: Date
}

export interface SourceDesk {
  readonly name: string
  readonly address: string
  readonly state: SourceState
  readonly goneSince: Date | null
  readonly day: Traffic
  readonly problems: readonly SourceProblem[]
}

/** A workspace, or a domain of one. */
export interface SenderDesk {
  readonly id: string
  readonly name: string
  readonly week: Traffic
}

/** What reports of receivers say about mail that fails DMARC. */
export interface DmarcFailure {
  /** The domain of From. */
  readonly domain: string
  /** The address that sent it. */
  readonly address: string
  /** The source with this address; null: it is not ours. */
  readonly source: string | null
  readonly messages: number
  readonly failed: number
  readonly since: Date
  /** Who reported the most of it. */
  readonly reporter: string
}

export interface CertificateDesk {
  readonly name: string
  readonly expiresAt: Date
}

export interface NoticeDesk {
  readonly kind: string
  readonly subject: string
  readonly text: string
  readonly count: number
  readonly firstSeen: Date
}

export interface Desk {
  readonly at: Date
  readonly isOfWorkspace: boolean
  /** Those with the most mail first. */
  readonly receivers: readonly ReceiverDesk[]
  readonly sources: readonly SourceDesk[]
  /** Workspaces; of a workspace, its domains. */
  readonly senders: readonly SenderDesk[]
  readonly dmarc: readonly DmarcFailure[]
  readonly certificates: readonly CertificateDesk[]
  readonly notices: readonly NoticeDesk[]
}
