/**
 * What every scenario is given: the sizes, the sink, Mailstead when it takes
 * part, and where progress is told. Built once in `main.ts`.
 */
import type { Contender } from './contender.ts'
import type { Mailstead } from './mailstead.ts'
import type { Sizes } from './options.ts'
import type { Remote } from './remote.ts'

export interface Receiver {
  readonly sink: Remote<'sink'>
  readonly port: number
}

export interface Bench {
  readonly sizes: Sizes
  /** Takes the mail of the usual site, and of another one. */
  readonly receiver: Receiver
  readonly otherReceiver: Receiver
  readonly references: readonly Contender[]
  say(line: string): void
}

export interface MailsteadBench extends Bench {
  readonly mailstead: Mailstead
}
