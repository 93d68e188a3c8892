/**
 * HTML of a mail, shown harmlessly: the frame has an origin of its own and the policy of `mail-frame.html` permits none
 * of the mail's scripts. Messages are taken only from the frame itself, and only a bounded height is believed.
 */
import { useEffect, useRef, useState } from 'react'
import { cx } from './class-names.ts'

export interface MailFrameProps {
  html: string
  /** Names the frame for screen readers: the subject. */
  title: string
  isDark?: boolean | undefined
  /** Pixels; without it, as wide as there is room. Phones: 375. */
  width?: number | undefined
  minHeight?: number | undefined
  /** Also loads images of other servers. They learn that the mail was opened, and from which address. */
  loadsImages?: boolean | undefined
}

const MAX_HEIGHT = 20_000

export function MailFrame(props: MailFrameProps) {
  const { html, title, isDark = false, width, minHeight = 160, loadsImages = false } = props
  const frame = useRef<HTMLIFrameElement>(null)
  // counts the documents that were loaded: another address of the frame loads another one
  const [loads, setLoads] = useState(0)
  const [height, setHeight] = useState(minHeight)
  useEffect(() => {
    function onMessage(event: MessageEvent<unknown>): void {
      if (event.source === null || event.source !== frame.current?.contentWindow) return
      const data = event.data
      if (typeof data !== 'object' || data === null) return
      if ('isReady' in data) setLoads((count) => count + 1)
      if ('height' in data && typeof data.height === 'number' && Number.isFinite(data.height))
        setHeight(Math.min(Math.max(data.height, 1), MAX_HEIGHT))
    }
    addEventListener('message', onMessage)
    return () => removeEventListener('message', onMessage)
  }, [])
  useEffect(() => {
    // the frame's origin is opaque, so no target origin can be named
    if (loads > 0) frame.current?.contentWindow?.postMessage({ html, isDark }, '*')
  }, [loads, html, isDark])
  return (
    <div className={cx('max-w-full overflow-hidden', width !== undefined && 'mx-auto')} style={{ width }}>
      <iframe
        ref={frame}
        src={loadsImages ? '/mail-frame.html?images=all' : '/mail-frame.html'}
        title={title}
        sandbox="allow-scripts"
        referrerPolicy="no-referrer"
        className={cx('block w-full rounded-md border border-line', isDark ? 'bg-[#0e1116]' : 'bg-[#ffffff]')}
        style={{ height: Math.max(height, minHeight), colorScheme: isDark ? 'dark' : 'light' }}
      />
    </div>
  )
}
