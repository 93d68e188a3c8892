/**
 * Progress of a long action on stderr: a bar on a terminal, elsewhere a line every two seconds, so that a log stays
 * readable. Nothing is written for an action that ends at once.
 */
const LINE_MS = 2000
const DRAW_MS = 100
const BAR_WIDTH = 30
/** Back to the first column, and clears the line. */
const CLEAR_LINE = '\r\u001b[2K'

export interface Progress {
  /** `share` is 0 to 1; null if the end is unknown. */
  report(share: number | null, text: string): void
  /** Removes the bar. */
  end(): void
}

/** Where progress is written. */
export interface ProgressOutput {
  err(text: string): void
}

export function createProgress(
  output: ProgressOutput,
  isTerminal: boolean,
  now: () => number = () => performance.now(),
): Progress {
  let last = now()
  let isDrawn = false
  return {
    report(share, text) {
      if (now() - last < (isTerminal ? DRAW_MS : LINE_MS)) return
      last = now()
      isDrawn = isTerminal
      output.err(isTerminal ? `${CLEAR_LINE}${barText(share, text)}` : `${text}\n`)
    },
    end() {
      if (isDrawn) output.err(CLEAR_LINE)
      isDrawn = false
    },
  }
}

/** Without a share only the text, since a bar would promise an end. */
export function barText(share: number | null, text: string): string {
  if (share === null) return text
  const bounded = Math.min(1, Math.max(0, share))
  const done = Math.round(bounded * BAR_WIDTH)
  const percent = `${Math.floor(bounded * 100)}%`.padStart(4)
  return `${'█'.repeat(done)}${'░'.repeat(BAR_WIDTH - done)} ${percent}  ${text}`
}
