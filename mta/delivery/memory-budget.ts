/** How much large content may be in memory at once: who would go over it waits in line. One that is larger than all of it goes alone. */
export interface Memory {
  lend<T>(bytes: number, work: () => Promise<T>): Promise<T>
}

export function createMemory(most: number): Memory {
  let lent = 0
  const line: { readonly bytes: number; readonly start: () => void }[] = []

  function admit(): void {
    for (let first = line[0]; first !== undefined && (lent === 0 || lent + first.bytes <= most); first = line[0]) {
      line.shift()
      lent += first.bytes
      first.start()
    }
  }

  return {
    lend: async (bytes, work) => {
      await new Promise<void>((start) => {
        line.push({ bytes, start })
        admit()
      })
      try {
        return await work()
      } finally {
        lent -= bytes
        admit()
      }
    },
  }
}
