/** Messages between the compile thread and its owner. The thread runs one job at a time. */
import type { CompileResult, AuthoredTemplate } from './compile-template.ts'
import type { PartialBodies } from './partials.ts'
import type { ReviewFinding, Review, ReviewJob } from './review.ts'
import type { TemplateSource } from './template-source.ts'

export type CompileJob =
  | { readonly kind: 'compile'; readonly authored: AuthoredTemplate; readonly partials: PartialBodies }
  | ({ readonly kind: 'review' } & ReviewJob)
  | { readonly kind: 'validate'; readonly source: Omit<TemplateSource, 'key'> }

export type CompileJobResult = CompileResult | Review | readonly ReviewFinding[]
