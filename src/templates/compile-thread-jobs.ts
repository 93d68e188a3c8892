/** What is said between the workshop and its thread: one job at a time. */
import type { FinishResult, Written } from './compile-template.ts'
import type { Partials } from './partials.ts'
import type { Finding, Review, ReviewJob } from './review.ts'
import type { Source } from './source.ts'

export type WorkshopJob =
  | { readonly kind: 'finish'; readonly written: Written; readonly partials: Partials }
  | ({ readonly kind: 'review' } & ReviewJob)
  | { readonly kind: 'judge'; readonly source: Omit<Source, 'key'> }

export type WorkshopAnswer = FinishResult | Review | readonly Finding[]
