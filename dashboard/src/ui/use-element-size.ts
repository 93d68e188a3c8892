import { useCallback, useState } from 'react'

interface ElementSize {
  width: number
  height: number
}

/** `[ref, size]`: the size of the element with the ref, null before the first measure. */
export function useElementSize(): [(element: Element | null) => (() => void) | undefined, ElementSize | null] {
  const [size, setSize] = useState<ElementSize | null>(null)
  const ref = useCallback((element: Element | null) => {
    if (element === null) return undefined
    const observer = new ResizeObserver(([entry]) => {
      if (entry === undefined) return
      const { width, height } = entry.contentRect
      setSize((old) => (old?.width === width && old.height === height ? old : { width, height }))
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [ref, size]
}
