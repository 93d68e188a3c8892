/**
 * HTML of a mail without its images, as mail programs show it that block them. The result is only shown in MailFrame.
 */

const TEXT_BESIDE_IMAGES = 'display:inline-block;border:1px dashed #8b93a4;padding:4px 8px;color:#535b6b;font-size:13px'

export function withoutImages(html: string): string {
  // a document of its own: nothing is loaded, and no script runs
  const mail = new DOMParser().parseFromString(html, 'text/html')
  for (const image of mail.querySelectorAll('img, picture, svg, input[type="image"]')) {
    const alt = mail.createElement('span')
    alt.textContent = image.getAttribute('alt') ?? ''
    if (alt.textContent !== '') alt.setAttribute('style', TEXT_BESIDE_IMAGES)
    image.replaceWith(alt)
  }
  for (const element of mail.querySelectorAll('[background]')) element.removeAttribute('background')
  for (const element of mail.querySelectorAll('[style]'))
    element.setAttribute('style', removeUrls(element.getAttribute('style') ?? ''))
  for (const sheet of mail.querySelectorAll('style')) sheet.textContent = removeUrls(sheet.textContent)
  return mail.documentElement.outerHTML
}

export function removeUrls(css: string): string {
  return css.replaceAll(/url\([^)]*\)/gi, 'none')
}
