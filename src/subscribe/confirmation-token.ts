/**
 * What the link in a confirmation letter carries: who asked to join which audience, until when. It is sealed, so that nobody makes one,
 * and nobody who sees the link in a log reads an address in it. Nothing is stored: whoever can read the letter brings the proof.
 */
import { z } from 'zod'
import type { Context } from '#src/context.ts'
import { isUuid } from '#src/platform/id.ts'

export interface Wish {
  readonly workspaceId: string
  readonly audienceId: string
  readonly email: string
  readonly firstName: string | null
  readonly lastName: string | null
}

const PURPOSE = 'subscribe-proof'
const LIFETIME_MS = 7 * 24 * 3600 * 1000
/** The longest names and address in base64. */
const MAX_LENGTH = 4096
const TEXT = /^[A-Za-z0-9_-]+$/

const uuid = z.string().refine(isUuid)
const content = z.tuple([uuid, uuid, z.string(), z.string().nullable(), z.string().nullable(), z.number()])

/** Letters, digits, `-` and `_`. */
export function makeProof(ctx: Pick<Context, 'vault' | 'clock'>, wish: Wish): string {
  const until = ctx.clock.now() + LIFETIME_MS
  const { workspaceId, audienceId, email, firstName, lastName } = wish
  return ctx.vault
    .seal(PURPOSE, JSON.stringify([workspaceId, audienceId, email, firstName, lastName, until]))
    .toString('base64url')
}

/** Null for anything that we did not make, and when its time is over. */
export function readProof(ctx: Pick<Context, 'vault' | 'clock'>, proof: string): Wish | null {
  if (proof.length > MAX_LENGTH || !TEXT.test(proof)) return null
  const opened = open(ctx, Buffer.from(proof, 'base64url'))
  if (opened === null) return null
  const read = content.safeParse(JSON.parse(opened))
  if (!read.success) return null // made by another version
  const [workspaceId, audienceId, email, firstName, lastName, until] = read.data
  return until < ctx.clock.now() ? null : { workspaceId, audienceId, email, firstName, lastName }
}

function open({ vault }: Pick<Context, 'vault'>, sealed: Buffer): string | null {
  try {
    return vault.open(PURPOSE, sealed).toString('utf8')
  } catch {
    return null // not ours
  }
}
