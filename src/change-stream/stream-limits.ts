/**
 * Limits of open streams, by key, client address, workspace and process. Each is a count in this process: a client that
 * is refused here may find room in another. A slot is released once, however often its client ends.
 */
export interface StreamLimits {
  readonly perCredential: number
  readonly perAddress: number
  readonly perWorkspace: number
  readonly perProcess: number
}

/** A stream costs 10 to 20 KB of memory and a file descriptor. */
const STREAM_LIMITS: StreamLimits = {
  perCredential: 100,
  perAddress: 500,
  perWorkspace: 1000,
  perProcess: 5000,
}

export interface StreamOwner {
  readonly holder: string
  readonly address: string
  readonly workspaceId: string
}

export interface StreamSlots {
  /** A function that releases the slot, or the limit that is reached. */
  acquire(owner: StreamOwner): (() => void) | keyof StreamLimits
  /** Of the process. */
  readonly count: number
}

export function createStreamSlots(limits: StreamLimits = STREAM_LIMITS): StreamSlots {
  const counts = new Map<string, number>()
  return {
    get count() {
      return counts.get('process') ?? 0
    },
    acquire: ({ holder, address, workspaceId }) => {
      const counted = [
        ['perProcess', 'process'],
        ['perWorkspace', `workspace ${workspaceId}`],
        ['perAddress', `address ${address}`],
        ['perCredential', `holder ${holder}`],
      ] as const
      const reached = counted.find(([limit, name]) => (counts.get(name) ?? 0) >= limits[limit])
      if (reached !== undefined) return reached[0]
      for (const [, name] of counted) counts.set(name, (counts.get(name) ?? 0) + 1)
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        for (const [, name] of counted) {
          const left = (counts.get(name) ?? 0) - 1
          if (left > 0) counts.set(name, left)
          else counts.delete(name)
        }
      }
    },
  }
}
