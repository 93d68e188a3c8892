/**
 * Why a complete message is refused. SMTP submission reports it as a reply, the API as an error; both with this text,
 * which says what is wrong and what to do.
 */
export type SubmissionProblem =
  /** The message is malformed. */
  | 'content'
  | 'too-large'
  /** It has passed too many servers. */
  | 'loop'
  /** The sender, key or workspace is not allowed to do this. */
  | 'forbidden'
  /** The stored template does not exist or cannot be rendered. */
  | 'template'

export class SubmissionError extends Error {
  override readonly name = 'SubmissionError'
  readonly problem: SubmissionProblem

  constructor(problem: SubmissionProblem, reason: string) {
    super(reason)
    this.problem = problem
  }
}

/** The message is malformed. */
export function contentError(reason: string): SubmissionError {
  return new SubmissionError('content', reason)
}
