import type { ServerTexts } from '#dashboard/src/texts/en/server.ts'

/** Reasons of recipients, findings of BIMI and templates, and notices. */
export const sentences: ServerTexts = {
  'reason.suppressed_because': 'Die Adresse steht auf der Sperrliste: {cause}',
  'reason.contact_deleted': 'Der Kontakt wurde gelöscht.',
  'reason.unsubscribed': 'Der Kontakt hat sich abgemeldet, als die Mail schon in der Warteschlange war.',
  'reason.opted_out': 'Der Kontakt hat alle Nachrichten abbestellt.',
  'reason.not_subscribed': 'Der Kontakt gehört nicht mehr zu der Zielgruppe.',
  'reason.expired': 'Die Nachricht ist am {at} abgelaufen, bevor sie gesendet werden konnte.',
  'reason.cancelled_by_sender': 'Vom Absender abgebrochen.',
  'reason.cancelled_by_hand': 'Von Hand abgebrochen.',
  'reason.paused_by_hand': 'Von Hand angehalten.',
  'reason.campaign_cancelled': 'Die Kampagne wurde abgebrochen.',
  'reason.retried': 'Auf Wunsch des Absenders erneut versucht.',
  'reason.account_removed': 'Das verbundene Konto wurde entfernt.',
  'reason.account_paused': 'Das verbundene Konto {account} ist ausgesetzt: {reason}',
  'reason.domain_removed': 'Die Absenderdomain {domain} wurde entfernt.',
  'reason.domain_of_removed': 'Die Absenderdomain von {address} wurde entfernt.',
  'reason.domain_not_verified':
    'Die Absenderdomain von {address} ist nicht mehr verifiziert: Ihr DKIM-Eintrag fehlt im DNS.',
  'reason.policy_fetched': 'Die MTA-STS-Richtlinie von {domain} wird gerade abgerufen.',
  'reason.template_waits': 'Die Vorlage: {reason}',
  'reason.template_failed': 'Die Vorlage lässt sich für diesen Kontakt nicht füllen: {reason}',
  'reason.content_gone':
    'Text oder Anhänge der Nachricht sind nicht mehr gespeichert. Senden Sie die Nachricht erneut.',
  'reason.not_composed': 'Die Nachricht konnte nicht zusammengesetzt werden: {reason}',
  'reason.not_prepared': 'Die Nachricht konnte nicht vorbereitet werden: {reason}',
  'reason.recipient_erased': 'Die Daten des Empfängers wurden gelöscht.',
  'reason.other_node': 'Ein anderer Knoten hat die Quelle dafür.',
  'reason.no_running_source':
    'Keine Quelle des Pools kann sie jetzt senden: Kein laufender Knoten hat eine Quelle für diese Mail ({sources}).',
  'reason.no_source_warming':
    'Keine Quelle des Pools kann sie jetzt senden ({sources}). Das Aufwärmen erlaubt heute keine Mail mehr an {receiver}, wieder ab {at}.',
  'reason.no_source': 'Keine Quelle des Pools kann sie jetzt senden ({sources}).',
  'reason.lost_after_dot':
    'Die Verbindung brach nach dem letzten Punkt ab ({detail}). Das Empfangssystem hat die Nachricht vielleicht angenommen.',
  'reason.lost': 'Die Verbindung brach bei {stage} ab: {detail}',
  'reason.tls_failed': 'TLS ist gescheitert: {detail}',
  'reason.address_lookup': 'Die DNS-Abfrage der Adresse von {host} ist gescheitert: {detail}',
  'reason.no_public_address': '{host} hat keine öffentliche Adresse.',
  'bimi.ok': 'Empfangssysteme, die BIMI unterstützen, können das Logo anzeigen.',
  'bimi.record_missing': 'Es gibt keinen BIMI-Eintrag.',
  'bimi.record_missing_todo': 'Geben Sie die URL Ihres Logos an, und veröffentlichen Sie dann den Eintrag.',
  'bimi.publish_value': 'Veröffentlichen Sie "{value}".',
  'bimi.publish_name': 'Veröffentlichen Sie {name} TXT "{value}".',
  'bimi.declined': 'Der BIMI-Eintrag sagt, dass die Domain kein Logo hat.',
  'bimi.published': 'Der BIMI-Eintrag ist veröffentlicht.',
  'bimi.other_files': 'Der BIMI-Eintrag nennt andere Dateien als hier angegeben.',
  'bimi.no_logo': 'Der Eintrag nennt kein Logo. Ergänzen Sie l=https://… mit der URL einer SVG-Datei.',
  'bimi.dmarc_missing': 'Es gibt keinen DMARC-Eintrag.',
  'bimi.dmarc_missing_todo': 'Veröffentlichen Sie _dmarc.{domain} mit p=quarantine oder p=reject.',
  'bimi.dmarc_policy': '_dmarc.{domain} hat p={policy}. Empfangssysteme verlangen p=quarantine oder p=reject.',
  'bimi.dmarc_subdomains':
    '_dmarc.{domain} hat sp={policy}. Empfangssysteme verlangen auch für Subdomains eine Richtlinie.',
  'bimi.dmarc_percent': '_dmarc.{domain} hat pct={percent}. Empfangssysteme verlangen alle Mail. Entfernen Sie pct.',
  'bimi.dmarc_todo': 'Ändern Sie das, sobald Ihre DMARC-Berichte zeigen, dass Ihre eigene Mail besteht.',
  'bimi.dmarc_ok': 'Die DMARC-Richtlinie gilt für alle Mail.',
  'bimi.logo_ok': 'Das Logo ist gültiges SVG Tiny PS.',
  'bimi.logo_type': 'Das Logo hat den Medientyp {type}. Senden Sie image/svg+xml.',
  'bimi.logo_host': 'Das Logo lässt sich nicht abrufen: Sein Host wurde nicht gefunden oder ist nicht erlaubt.',
  'bimi.logo_connection': 'Das Logo lässt sich nicht abrufen: Sein Server nimmt keine Verbindung an.',
  'bimi.logo_tls': 'Das Logo lässt sich nicht abrufen: Sein Server hat kein gültiges TLS-Zertifikat.',
  'bimi.logo_closed': 'Das Logo lässt sich nicht abrufen: Sein Server hat die Verbindung vorzeitig geschlossen.',
  'bimi.logo_status': 'Das Logo lässt sich nicht abrufen: Sein Server hat {status} geantwortet, nicht 200.',
  'bimi.logo_redirects': 'Das Logo leitet weiter. Nennen Sie im Eintrag die endgültige URL.',
  'bimi.logo_late': 'Das Logo kam nicht innerhalb von {seconds} s an.',
  'bimi.logo_large': 'Das Logo hat mehr als {max} KB.',
  'bimi.logo_not_svg': 'Das Logo ist keine SVG-Datei.',
  'bimi.logo_not_square': 'Das Logo ist nicht quadratisch. Empfangssysteme zeigen es in einem Kreis.',
  'bimi.logo_element': 'Das Logo hat das Element <{element}>. SVG Tiny PS erlaubt es nicht.',
  'bimi.logo_problem': 'Das Logo ist nicht in Ordnung: {problem}',
  'bimi.file_todo': 'Korrigieren Sie die Datei unter {url}, und prüfen Sie dann erneut.',
  'bimi.certificate_missing': 'Es gibt kein Markenzertifikat.',
  'bimi.certificate_missing_todo':
    'Besorgen Sie ein VMC oder CMC, wenn Gmail und Apple Mail das Logo zeigen sollen, und nennen Sie es in a=.',
  'bimi.certificate_ok': 'Das {kind} ist bis {date} gültig.',
  'bimi.certificate_ends': 'Erneuern Sie es.',
  'bimi.certificate_revoked': 'Das {kind} oder einer seiner Aussteller wurde am {date} widerrufen.',
  'bimi.certificate_revoked_todo': 'Bitten Sie den Aussteller um ein neues Zertifikat, und nennen Sie es in a=.',
  'bimi.certificate_unknown':
    'Das {kind} ist bis {date} gültig, falls es nicht widerrufen wurde. Seine Sperrliste: {problem}',
  'bimi.certificate_unknown_todo': 'Prüfen Sie später erneut. Hilft das nicht, fragen Sie den Aussteller.',
  'bimi.certificate_unsigned':
    'Das Markenzertifikat stammt nicht von einem Aussteller für Markenzertifikate, oder seine Kette ist unvollständig.',
  'bimi.certificate_other_logo': 'Das Markenzertifikat enthält ein anderes Logo, als der Eintrag nennt.',
  'bimi.certificate_problem': 'Das Markenzertifikat ist nicht in Ordnung: {problem}',
  'review.too_large': 'Das fertige HTML hat {size} KB. Gmail schneidet es bei 102 KB ab.',
  'review.no_text': 'Es gibt keinen Textteil. Er wird aus dem HTML erzeugt.',
  'review.unsubscribe_missing': '{{{link}}} fehlt: Jede E-Mail braucht den Abmeldelink.',
  'review.unsubscribe_in_block': '{{{link}}} steht nur in einem Block, der vielleicht nicht angezeigt wird.',
  'review.css_not_inlined':
    'CSS wird nicht in die Elemente geschrieben: Ein Block öffnet Elemente, die er nicht schließt.',
  'review.variable_meant':
    '{{{variable}}} ist weder eine Variable noch ein Attribut von Kontakten, noch steht es in den Beispieldaten. Meinten Sie {{{meant}}}?',
  'review.variable':
    '{{{variable}}} ist weder eine Variable noch ein Attribut von Kontakten, noch steht es in den Beispieldaten.',
  'review.image_without_alt': 'Ein Bild hat keinen Alternativtext.',
  'notice.receiver_suspended': 'Regel {rule}, bis {until}: {reply}',
  'notice.source_gone': '{address} ist seit {since} auf keinem sendenden Rechner.',
  'notice.backup_restored_range':
    'Eine Sicherung wurde eingespielt, oder ein Standby hat übernommen. Es fehlen die Änderungen von {from} bis {until}. Lesen Sie „After you restore a backup“ in docs/guides/operations.md.',
  'notice.backup_restored':
    'Eine Sicherung wurde eingespielt, oder ein Standby hat übernommen. Es fehlen die Änderungen bis {until}. Lesen Sie „After you restore a backup“ in docs/guides/operations.md.',
  'notice.certificate_expires': '{failures} Anträge sind gescheitert. Das Zertifikat läuft am {at} ab: {problem}',
  'notice.certificate_missing': '{failures} Anträge sind gescheitert. Es gibt kein Zertifikat: {problem}',
  'notice.no_node_source':
    'Kein laufender Knoten hat eine seiner Quellen ({sources}). Die Mail seiner Absender wartet. Starten Sie den Knoten, der sie hat, oder fügen Sie dem Pool eine Quelle hinzu.',
  'notice.suppressions_held': 'Sperrungen werden seit {since} zurückgehalten.',
  'notice.retention_late': '{what} hätte längst gelöscht werden müssen. Siehe mailstead retention list.',
  'notice.key_not_found':
    'Der nächste DKIM-Schlüssel ist seit einem Tag nicht im DNS, deshalb signiert der jetzige weiter. Der Besitzer von {domain} muss die CNAME-Einträge veröffentlichen, die „mailstead domain verify {domain}“ nennt.',
  'notice.token_refused':
    'Ein ungültiges Betreiber-Token wurde abgelehnt, zuletzt von {address}. Korrigieren Sie das Programm, wenn es Ihres ist. Sonst rät jemand: Machen Sie /api/v1/admin von außen unerreichbar.',
  'notice.clock_poor':
    'Die Uhren dieses Rechners und von PostgreSQL weichen voneinander ab. Mail wird gesendet, aber Zertifikate werden vielleicht abgelehnt. Synchronisieren Sie die Uhren beider Rechner mit NTP.',
  'notice.clock_wrong':
    'Die Uhren dieses Rechners und von PostgreSQL weichen voneinander ab. Seine Prozesse nehmen keine Mail an und bearbeiten keine. Synchronisieren Sie die Uhren beider Rechner mit NTP.',
}
