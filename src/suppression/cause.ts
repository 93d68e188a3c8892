/**
 * Why an address is on the suppression list. Causes are ordered by strength: a listed address keeps its cause unless a
 * stronger one arrives, so that an import does not hide a complaint.
 */
export interface CauseRow {
  readonly meaning: string
  /** The reason stored if none is given. */
  readonly sentence: string
}

/** Strongest first. */
export const CAUSES = {
  complaint: { meaning: 'The recipient reported mail as spam.', sentence: 'complaint' },
  hard_bounce: { meaning: 'The receiver says that the mailbox does not exist.', sentence: 'hard bounce' },
  unsubscribe: { meaning: 'The recipient wants no mail from this workspace.', sentence: 'unsubscribed' },
  manual: { meaning: 'Someone added it with an Admin key.', sentence: 'added by hand' },
  import: { meaning: 'It was on a list that was imported.', sentence: 'imported' },
  unsubscribe_bulk: {
    meaning: 'The recipient wants no bulk mail from this workspace; mail of the other tiers goes out.',
    sentence: 'unsubscribed from bulk mail',
  },
} as const satisfies Record<string, CauseRow>

export type CauseKind = keyof typeof CAUSES

/** Strongest first. */
export const CAUSE_KINDS = Object.keys(CAUSES) as [CauseKind, ...CauseKind[]]

/** SQL: whether an entry `s` of the suppression list stops mail of a tier. */
export function stopsTier(tier: string): string {
  return `(s.kind <> 'unsubscribe_bulk' OR ${tier} = 'bulk')`
}

/** The same for an entry that was loaded. */
export function stopsMailOf(kind: CauseKind, tier: string): boolean {
  return kind !== 'unsubscribe_bulk' || tier === 'bulk'
}

/** The receiver's reply. */
export interface CauseReply {
  readonly code: number | null
  /** RFC 3463, such as 5.1.1. */
  readonly status: string | null
  readonly text: string
}

/** An address to suppress, with its complete cause. */
export interface NewSuppression {
  readonly workspaceId: string
  /** As returned by `parseAddress`; case-insensitive. */
  readonly address: string
  readonly kind: CauseKind
  /** For people; null: the default reason of its kind. */
  readonly reason: string | null
  readonly reply?: CauseReply
  /** Name of the rule that classified the reply. */
  readonly rule?: string
  readonly eventId?: string
  readonly messageId?: string
  /** The API key that added it. */
  readonly apiKeyId?: string | null
}
