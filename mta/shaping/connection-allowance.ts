/**
 * The connections that a throttle allows this process: which may be opened, how many are open, and who waits for one.
 * An open connection counts until its socket is closed, also while idle. Pure bookkeeping: the throttle grants shares
 * and rate tokens, the transport (mta/transport/connection-slots.ts) opens and closes connections.
 */
export interface AllowanceRules {
  /** Connections that this process may have open now. */
  readonly allowed: () => number
  /** The receiver limits the rate of new connections. */
  readonly hasRate: () => boolean
  /** Called when a rate token is needed. */
  readonly onTokenNeeded: () => void
}

export class ConnectionAllowance {
  /** Called when more connections are open than allowed: idle ones must be closed. */
  onOverLimit: () => void = () => undefined
  readonly #rules: AllowanceRules
  #open = 0
  #tokens = 0
  #waiting: (() => void)[] = []

  constructor(rules: AllowanceRules) {
    this.#rules = rules
  }

  /** Connections that are open. */
  get open(): number {
    return this.#open
  }

  /** More connections are open than allowed. */
  get isOver(): boolean {
    return this.#open > this.#rules.allowed()
  }

  /** Tokens of the connection rate that this process has. */
  get tokens(): number {
    return this.#tokens
  }

  /** Reserves one new connection; false when none is free now. After true `release` must follow. */
  reserve(): boolean {
    if (this.#open >= this.#rules.allowed()) return false
    if (this.#rules.hasRate()) {
      if (this.#tokens < 1) {
        this.#rules.onTokenNeeded()
        return false
      }
      this.#tokens--
    }
    this.#open++
    return true
  }

  release(): void {
    this.#open--
    this.wake()
  }

  /** Returns the token of a reserved connection that was never attempted. */
  refundToken(): void {
    if (this.#rules.hasRate()) this.#tokens++
  }

  addTokens(tokens: number): void {
    this.#tokens += tokens
  }

  /** Resolves after the next change that may permit opening a connection or using an open one. */
  nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
    })
  }

  /** An open connection may be used by another delivery. */
  wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }

  /** The share or the rate tokens changed. */
  changed(): void {
    this.wake()
    if (this.isOver) this.onOverLimit()
  }
}
