/**
 * What every scenario receives: the sizes, the sinks, Mailstead where it is
 * measured, and a function that prints progress. `main.ts` creates it once.
 */
import type { MailMix } from '#bench/mails/mail-mix.ts'
import type { Contender } from './contender.ts'
import type { Mailstead } from './mailstead.ts'
import type { BenchSizes } from './options.ts'
import type { Remote } from './remote.ts'

export interface BenchReceiver {
  readonly sink: Remote<'sink'>
  readonly port: number
}

export interface Bench {
  /** The mail of the scenarios that compare servers. */
  readonly mix: MailMix
  readonly sizes: BenchSizes
  /** Receives the mail of the usual site; `otherReceiver` that of a second one. */
  readonly receiver: BenchReceiver
  readonly otherReceiver: BenchReceiver
  /** The configurations of each reference server. */
  readonly references: readonly (readonly Contender[])[]
  say(line: string): void
}

export interface MailsteadBench extends Bench {
  readonly mailstead: Mailstead
}
