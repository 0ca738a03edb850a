"""Lets the rules read traditional characters: what they look for is written in simplified ones.

Only the characters that the rules themselves hold are known here, and the commonest words of written Cantonese. What
they find is given back in the user's own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from streams.extraction.rules.finding import Finding

_TRADITIONAL: Final = (
    "萬與專業東兩嚴個臨為麗麼義烏樂習書買於虧亞產親億從倉們優會傷倫體倆債兒黨蘭關興養內寫軍農馮況減幾劉剛"
    "創別劑劇辦務動區醫華單賣盧衛廠歷厭廈廚縣參雙發變葉號後呂嗎聽啓吳員喲團國圖場壞塊聲備復頭奮獎奧婦媽孫"
    "學寧寶實寵審對導將爾嘗盡屬歲島幣師帶幫乾廣莊慶應龐開異張彈強歸當懷總戀惡驚懼慘慣憤願戰戶執揚搶護報擔"
    "換據攝無舊時暈術機條來楊傑極構樣檔夢檢樓橫歡歐畢氣匯漢湯沒測濟溫潰滿濱濰點煙煩熱愛爺牽獨貓現電畫瘋鹽"
    "磯碼確禮離種稱筆築籌簽緊紅約級紀純納紐線練組細終紹經結給絕統繼續維綿編縫網羅職聯脫臉捨蕪蘇範薦藥營蕭"
    "薩蔣藍慮蠻裝見觀覺計訂認討讓訓議記講許論設證評訴診詞譯試話詢該語說誒請諸讀課誰諒談謝貝負責賬貨質購貴"
    "貸費賀賈資賺賽贛趙車轉軟輕較輯辭辯邊達過運還這進遠連遲遞鄧郵鄒鄰鄭鄲鐘錢鐵銀銷錯錫鎮鎊長門問閒間鬧閨"
    "聞隊陽陰陣陸陳隨難靜韋韓頂項順顧頓預領題顏額飛飯館馬駕驕駱騎騙魯鵡鸚麩黃齊龍龜裡裏麵臺檯髮甚説爲妳牠"
    "鍾週曆隻準係唸喫牀複幹癡啟籤嚐佈註託遊捲"
    "佢哋嘅喺冇唔畀咗啲睇嚟"
)
_SIMPLIFIED: Final = (
    "万与专业东两严个临为丽么义乌乐习书买于亏亚产亲亿从仓们优会伤伦体俩债儿党兰关兴养内写军农冯况减几刘刚"
    "创别剂剧办务动区医华单卖卢卫厂历厌厦厨县参双发变叶号后吕吗听启吴员哟团国图场坏块声备复头奋奖奥妇妈孙"
    "学宁宝实宠审对导将尔尝尽属岁岛币师带帮干广庄庆应庞开异张弹强归当怀总恋恶惊惧惨惯愤愿战户执扬抢护报担"
    "换据摄无旧时晕术机条来杨杰极构样档梦检楼横欢欧毕气汇汉汤没测济温溃满滨潍点烟烦热爱爷牵独猫现电画疯盐"
    "矶码确礼离种称笔筑筹签紧红约级纪纯纳纽线练组细终绍经结给绝统继续维绵编缝网罗职联脱脸舍芜苏范荐药营萧"
    "萨蒋蓝虑蛮装见观觉计订认讨让训议记讲许论设证评诉诊词译试话询该语说诶请诸读课谁谅谈谢贝负责账货质购贵"
    "贷费贺贾资赚赛赣赵车转软轻较辑辞辩边达过运还这进远连迟递邓邮邹邻郑郸钟钱铁银销错锡镇镑长门问闲间闹闺"
    "闻队阳阴阵陆陈随难静韦韩顶项顺顾顿预领题颜额飞饭馆马驾骄骆骑骗鲁鹉鹦麸黄齐龙龟里里面台台发什说为你它"
    "钟周历只准系念吃床复干痴启签尝布注托游卷"
    "他们的在没不给了些看来"
)
_FOLD: Final = str.maketrans(_TRADITIONAL, _SIMPLIFIED)
_OURS: Final = "用户"
"""Never the user's word, although it may stand in their text."""


def simplified(text: str) -> str:
    """Return a text of the same length in which the rules find their words."""
    return text.translate(_FOLD)


def as_written(finding: Finding, plain: str, text: str) -> Finding:
    """Return a finding in `plain`, which is `text` simplified, with the characters of `text`."""
    return replace(
        finding,
        content=_written(finding.content, plain, text),
        value=None if finding.value is None else _written(finding.value, plain, text),
        key_dialogue=tuple(_written(said, plain, text) for said in finding.key_dialogue),
    )


def _written(words: str, plain: str, text: str) -> str:
    """Return the words in the characters of the text, where they stand in it; the others are the rules' own words."""
    if (whole := plain.find(words)) >= 0:
        return text[whole : whole + len(words)]
    done = []
    start = 0
    while start < len(words):
        end, at = start, -1
        while end < len(words) and not words.startswith(_OURS, end):
            further = plain.find(words[start : end + 1], max(at, 0))
            if further < 0:
                break
            end, at = end + 1, further
        if at < 0:
            end = start + (len(_OURS) if words.startswith(_OURS, start) else 1)
        done.append(words[start:end] if at < 0 else text[at : at + end - start])
        start = end
    return "".join(done)
