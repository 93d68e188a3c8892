/** HTML of a mail as its reader may see it: on a desktop or a phone, light or dark, without and with remote images. */
import { Image, ImageOff, Monitor, Moon, Smartphone, Sun } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { MailFrame } from '#dashboard/src/ui/mail-frame.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { hasRemoteImages } from './mail-links.ts'

const PHONE_WIDTH = 375

interface MailHtmlProps {
  readonly html: string
  readonly subject: string
}

export function MailHtml({ html, subject }: MailHtmlProps): ReactNode {
  const { mailView } = useTexts()
  const [width, setWidth] = useState<'desktop' | 'phone'>('desktop')
  const [theme, setTheme] = useState<'light' | 'dark'>('light')
  const [loadsImages, setLoadsImages] = useState(false)
  const isPhone = width === 'phone'
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <SegmentedControl
          size="sm"
          label={mailView.width}
          value={width}
          onChange={setWidth}
          segments={[
            { value: 'desktop', label: mailView.desktop, icon: Monitor },
            { value: 'phone', label: mailView.phone, icon: Smartphone },
          ]}
        />
        <SegmentedControl
          size="sm"
          label={mailView.theme}
          value={theme}
          onChange={setTheme}
          segments={[
            { value: 'light', label: mailView.light, icon: Sun, isIconOnly: true },
            { value: 'dark', label: mailView.dark, icon: Moon, isIconOnly: true },
          ]}
        />
        {hasRemoteImages(html) && (
          <Button
            size="sm"
            variant="ghost"
            icon={loadsImages ? ImageOff : Image}
            title={mailView.remoteImagesExplained}
            onClick={() => setLoadsImages(!loadsImages)}
          >
            {loadsImages ? mailView.hideImages : mailView.loadImages}
          </Button>
        )}
      </div>
      <MailFrame
        html={html}
        title={subject === '' ? mailView.noSubject : subject}
        isDark={theme === 'dark'}
        loadsImages={loadsImages}
        width={isPhone ? PHONE_WIDTH : undefined}
      />
    </div>
  )
}
