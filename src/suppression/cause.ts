/**
 * Why an address is on the suppression list. The causes have an order of strength: an address that is listed already keeps the cause it has
 * unless a stronger one comes, so that importing a list does not hide that somebody complained.
 */
export interface CauseRow {
  readonly meaning: string
  /** The sentence that is kept where nobody gave one. */
  readonly sentence: string
}

/** Strongest first. */
export const CAUSES = {
  complaint: { meaning: 'The recipient reported mail as spam.', sentence: 'complaint' },
  hard_bounce: { meaning: 'The receiver says that the mailbox does not exist.', sentence: 'hard bounce' },
  unsubscribe: { meaning: 'The recipient wants no mail from this workspace.', sentence: 'unsubscribed' },
  manual: { meaning: 'Someone added it with an Admin key.', sentence: 'added by hand' },
  import: { meaning: 'It was on a list that was imported.', sentence: 'imported' },
} as const satisfies Record<string, CauseRow>

export type CauseKind = keyof typeof CAUSES

/** Strongest first. */
export const CAUSE_KINDS = Object.keys(CAUSES) as [CauseKind, ...CauseKind[]]

/** What a receiver said, and which rule of ours read it so. */
export interface CauseReply {
  readonly code: number | null
  /** RFC 3463, such as 5.1.1. */
  readonly status: string | null
  readonly text: string
}

/** An address to be suppressed, with its whole cause. */
export interface NewSuppression {
  readonly workspaceId: string
  /** As `parseAddress` gives it; case does not matter. */
  readonly address: string
  readonly kind: CauseKind
  /** For people; the sentence of its kind where null. */
  readonly reason: string | null
  readonly reply?: CauseReply
  /** Name of the rule that read the reply. */
  readonly rule?: string
  readonly eventId?: string
  readonly messageId?: string
  /** Who added it. */
  readonly apiKeyId?: string
}
